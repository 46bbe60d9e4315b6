"""Sets the engine's rows against other rows of the same questions, field by field."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

KEY = ("model", "tp", "kv_dtype", "cc", "num_speculative_tokens", "quant_config_stripped", "tag")
FIELDS = {
    "vllm": (
        "block_size", "num_groups", "pool_bytes_per_block", "bytes_per_token_total_per_gpu", "state_bytes_per_seq_per_gpu",
        "bytes_per_token_window_layers_per_gpu", "bytes_for_one_request", "max_num_batched_tokens", "max_in_flight_tokens", "attn_backends", "error",
    ),
    "sglang": ("kv_bytes_per_token_per_gpu", "kv_dtype", "state", "pool_at_40GiB_rest_memory", "error"),
}  # fmt: skip


def report(engine: str, rows: list[dict[str, Any]], other: Path) -> int:
    """Prints what differs; 1 where anything does."""
    theirs = {key(r): r for r in load(other)}
    equal: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for row in rows:
        match = theirs.get(key(row))
        if match is None:
            continue
        for name in FIELDS[engine]:
            asked[name] += 1
            if row.get(name) == match.get(name):
                equal[name] += 1
            else:
                print(f"{'/'.join(str(x) for x in key(row))} {name}: {row.get(name)} here, {match.get(name)} there")
    for name in FIELDS[engine]:
        print(f"{name}: {equal[name]} of {asked[name]} equal")
    return int(equal != asked)


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row answers; names compare with either separator between owner and model."""
    return tuple(str(row.get(k)).replace("--", "/") if k == "model" else row.get(k) for k in KEY)


def load(path: Path) -> list[dict[str, Any]]:
    """Rows of a file: a list, or `cases` of an object."""
    data = json.loads(path.read_text())
    return data["cases"] if isinstance(data, dict) else data
