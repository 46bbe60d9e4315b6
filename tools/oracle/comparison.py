"""Sets the engine's rows against other rows of the same questions, field by field."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

KEY = ("model", "tp", "kv_dtype", "cc", "num_speculative_tokens", "quant_config_stripped", "tag")
GPUS = {"A100": "a100-80gb-sxm", "L40S": "l40s", "H100": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm", "RTX6000": "rtx-pro-6000-blackwell-ws"}
FIELDS = {
    "vllm": (
        "block_size", "num_groups", "pool_bytes_per_block", "bytes_per_token_total_per_gpu", "state_bytes_per_seq_per_gpu",
        "bytes_per_token_window_layers_per_gpu", "bytes_for_one_request", "max_num_batched_tokens", "max_in_flight_tokens", "attn_backends", "error",
    ),
    "sglang": (
        "kv_bytes_per_token_per_gpu", "kv_dtype", "state", "pool_at_40GiB_rest_memory", "resolved.page_size", "resolved.mem_fraction_static",
        "resolved.attention_backend", "resolved.chunked_prefill_size", "error",
    ),
}  # fmt: skip


def report(engine: str, rows: list[dict[str, Any]], other: Path) -> int:
    """Prints what differs; 1 where anything does."""
    theirs = {key(engine, r): r for r in load(other)}
    equal: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in rows:
        match = theirs.get(key(engine, row))
        if match is None:
            continue
        for name in FIELDS[engine]:
            asked[name] += 1
            if field(row, name) == field(match, name):
                equal[name] += 1
            else:
                print(f"{'/'.join(str(x) for x in key(engine, row))} {name}: {field(row, name)} here, {field(match, name)} there")
    for name in FIELDS[engine]:
        print(f"{name}: {equal[name]} of {asked[name]} equal")
    return int(equal != asked)


def key(engine: str, row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row answers; names compare with either separator between owner and model, SGLang's older rows name GPU and dtype differently."""
    known = {**row, "model": str(row.get("model")).replace("--", "/")}
    if engine == "sglang":
        mtp = row.get("num_speculative_tokens") or int((row.get("extra_args") or {}).get("speculative_num_steps", 0))
        known |= {"kv_dtype": row["kv_cache_dtype_arg"], "gpu": GPUS.get(row["gpu"], row["gpu"]), "num_speculative_tokens": mtp, "quant_config_stripped": False}
        known["cc"] = known["gpu"]
    return tuple(known.get(k) for k in KEY)


def field(row: dict[str, Any], name: str) -> Any:
    """A value by its dotted name, None where a part is absent."""
    outer, _, inner = name.partition(".")
    return row.get(outer) if not inner else (row.get(outer) or {}).get(inner)


def load(path: Path) -> list[dict[str, Any]]:
    """Rows of a file: a list, or `cases` of an object."""
    data = json.loads(path.read_text())
    return data["cases"] if isinstance(data, dict) else data
