"""Sets the engine's rows against other rows of the same questions, field by field."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tools.harvest.project import UNREAD, is_mapping

Row = dict[str, Any]
MISSING = UNREAD
KEY = ("model", "tp", "kv_dtype", "cc", "num_speculative_tokens", "quant_config_stripped", "tag")
GPUS = {"A100": "a100-80gb-sxm", "L40S": "l40s", "H100": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm", "RTX6000": "rtx-pro-6000-blackwell-ws"}
FIELDS = {
    "vllm": (
        "block_size", "num_groups", "pool_bytes_per_block", "bytes_per_token_total_per_gpu", "state_bytes_per_seq_per_gpu",
        "bytes_per_token_window_layers_per_gpu", "bytes_for_one_request", "max_num_batched_tokens", "max_in_flight_tokens", "attn_backends", "moe_backends", "error",
    ),
    "sglang": (
        "kv_bytes_per_token_per_gpu", "kv_dtype", "state.bytes_per_slot", "state.slots_per_request", "pool_at_40GiB_rest_memory.max_total_num_tokens",
        "pool_at_40GiB_rest_memory.max_running_requests", "resolved.page_size", "resolved.mem_fraction_static", "resolved.attention_backend",
        "resolved.chunked_prefill_size", "error",
    ),
}  # fmt: skip

LATER = ("moe_backends",)
"""Fields that rows made by earlier versions of this tool do not have."""


def report(engine: str, rows: list[Row], others: list[Row]) -> int:
    """Prints what differs from the other rows of the same question; 1 where anything does. A field the other side does not give is not compared."""
    theirs = {key(engine, r): r for r in others}
    equal: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in rows:
        match = theirs.get(key(engine, row))
        if match is None:
            continue
        for name in FIELDS[engine]:
            here, there = field(row, name), field(match, name)
            if name == "error":
                here, there = here is not MISSING, there is not MISSING  # refusals agree where both refuse: the words differ
            elif "error" in row or there is MISSING or (name in LATER and here is MISSING):
                continue
            asked[name] += 1
            equal[name] += here == there
            if here != there:
                print(f"{'/'.join(str(x) for x in key(engine, row))} {name}: {here} by the engine, {there} there")
    for name in FIELDS[engine]:
        print(f"{name}: {equal[name]} of {asked[name]} equal")
    return int(equal != asked or not asked)


def key(engine: str, row: Row) -> tuple[Any, ...]:
    """What a row answers; names compare with either separator between owner and model, SGLang's older rows name GPU and dtype differently."""
    known = {**row, "model": str(row.get("model")).replace("--", "/")}
    if engine == "sglang":
        extra: Any = row.get("extra_args") or {}
        mtp = row.get("num_speculative_tokens") or int(extra.get("speculative_num_steps", 0))
        known |= {"kv_dtype": row["kv_cache_dtype_arg"], "gpu": GPUS.get(row["gpu"], row["gpu"]), "num_speculative_tokens": mtp, "quant_config_stripped": False}
        known["cc"] = known["gpu"]
    return tuple(known.get(k) for k in KEY)


def field(row: Row, name: str) -> Any:
    """A value by its dotted name, MISSING where a part is absent."""
    value: Any = row
    for part in name.split("."):
        value = value.get(part, MISSING) if is_mapping(value) else MISSING
    return value


def load(path: Path) -> list[Row]:
    """Rows of a file: a list, or `cases` of an object."""
    data: Any = json.loads(path.read_text())
    return data["cases"] if is_mapping(data) else data
