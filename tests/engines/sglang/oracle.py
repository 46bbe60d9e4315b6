"""Runs of SGLang's own argument and sizing code as tests: what was asked, what it answered, and what we answer."""

import json
from pathlib import Path
from typing import Any

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour
from serveright.engines.sglang import layout
from serveright.engines.sglang.decide import decide, resolved_of, situation
from serveright.engines.sglang.pool import Pool, fill
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.source import ModelFiles

GPUS = {"H100": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm", "RTX6000": "rtx-pro-6000-blackwell-server", "A100": "a100-80gb-sxm", "L40S": "l40s"}
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float4_e2m1fn_x2": "nvfp4"}
REST_GIB = 40.0


def read(folder: Path, model: str) -> tuple[ModelShape, Checkpoint]:
    """A config of the shared material with its hf_quant_config.json where there is one."""
    beside = folder / f"{model}_hf_quant_config.json"
    quant: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    files = ModelFiles(id=model, origin=model, config=json.loads((folder / f"{model}.json").read_text(encoding="utf-8")), hf_quant_config=quant)
    return read_model(files), read_checkpoint(files)


def gpu(row: dict[str, Any]) -> Gpu:
    """The device the engine was made to see."""
    return load_gpu(GPUS[row["gpu"]])


def settings(row: dict[str, Any]) -> Settings:
    """What the run asked for."""
    asked = row["kv_cache_dtype_arg"]
    return Settings(parallel=Parallel(tp=row["tp"]), kv_dtype=None if asked == "auto" else asked)


def refused(row: dict[str, Any], shape: ModelShape, checkpoint: Checkpoint) -> list[str]:
    """The engine's messages we expect, first one first."""
    at = situation(shape, checkpoint, gpu(row), load_sglang_behaviour("0.5.23"))
    args = decide(at, settings(row))
    return [x.text for x in (*args.refusals, *fill(args, at, REST_GIB).refusals)]


def answer(row: dict[str, Any], shape: ModelShape, checkpoint: Checkpoint) -> dict[str, Any]:
    """What we say, in the run's own terms; through the public layout and the pool of 40 GiB behind `capacity`."""
    behaviour, device, asked = load_sglang_behaviour("0.5.23"), gpu(row), settings(row)
    at = situation(shape, checkpoint, device, behaviour)
    args = decide(at, asked)
    lay, out = layout(shape, checkpoint, device, behaviour, asked), resolved_of(args, at)
    pool = fill(args, at, REST_GIB)
    state = {"slot": lay.state_bytes_per_slot, "slots_per_request": lay.state_slots_per_request} if lay.state_bytes_per_slot else None
    found = {
        "backends": list(args.backends),
        "page": args.page,
        "mem_fraction": args.mem_fraction,
        "chunk": args.chunk,
        "graph_batch": args.decode_graph_batch,
        "prefill_graph": [args.prefill_graph, args.prefill_graph_tokens],
        "kv_dtype": out.kv_dtype,
        "bytes_per_token": lay.pool_bytes_per_token,
        "state": state,
        "pool": _pool(pool),
    }
    return found | {"dsa": [args.dsa_prefill, args.dsa_decode], "moe": args.moe, "strategy": args.strategy}


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """What the engine said, in the same terms; a golden row carries it as `answer`."""
    if "answer" in row:
        return row["answer"]
    said, state, pool = row["resolved"], row.get("state"), row["pool_at_40GiB_rest_memory"]
    both = said.get("attention_backend")
    found = {
        "backends": [said.get("prefill_attention_backend") or both, said.get("decode_attention_backend") or both],
        "page": said["page_size"],
        "mem_fraction": said["mem_fraction_static"],
        "chunk": said["chunked_prefill_size"],
        "graph_batch": said["decode_graph_max_bs"],
        "prefill_graph": [said["prefill_graph"], said["prefill_graph_max_bs"]],
        "kv_dtype": DTYPES[row["kv_dtype"].removeprefix("torch.")],
        "bytes_per_token": row["kv_bytes_per_token_per_gpu"],
        "state": {"slot": state["bytes_per_slot"], "slots_per_request": state["slots_per_request"]} if state else None,
        "pool": {
            "tokens": pool["max_total_num_tokens"],
            "running": pool["max_running_requests"],
            "window": pool.get("swa_max_total_num_tokens") or 0,
            "slots": pool.get("max_mamba_cache_size"),
            "rest": round(pool["rest_after_mamba_gib"], 3),
            "state4": pool["c4_state_pool_size"],
            "state128": pool["c128_state_pool_size"],
        },
    }
    if said.get("dsa_prefill_backend"):
        found["dsa"] = [said["dsa_prefill_backend"], said["dsa_decode_backend"]]
    if said["moe_runner_backend"] != "auto":
        found["moe"] = said["moe_runner_backend"]
    if state:
        found["strategy"] = said["mamba_radix_cache_strategy"]
    return found


def wrong(row: dict[str, Any], shape: ModelShape, checkpoint: Checkpoint) -> dict[str, Any]:
    """What differs, ours first."""
    ours, theirs = answer(row, shape, checkpoint), expected(row)
    return {key: (ours.get(key), theirs[key]) for key in theirs if not _same(ours.get(key), theirs[key])}


def _same(ours: object, theirs: object) -> bool:
    """Exactly equal; the two-pool sum carries a ratio, so its float may differ in the last bits."""
    return abs(ours - theirs) <= 1e-9 * abs(theirs) if isinstance(ours, float) and isinstance(theirs, float | int) else ours == theirs


def _pool(pool: Pool) -> dict[str, Any]:
    return {
        "tokens": pool.tokens,
        "running": pool.running,
        "window": pool.window_tokens,
        "slots": pool.slots,
        "rest": round(pool.rest_gib, 3),
        "state4": pool.state4,
        "state128": pool.state128,
    }
