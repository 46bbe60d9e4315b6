"""serveright's own answer to an oracle job, in the words of the engine's rows."""

import json
from pathlib import Path
from typing import Any

from serveright.catalog.sglang import load_sglang_behaviour
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.sglang import layout
from serveright.engines.sglang.decide import decide, resolved_of, situation
from serveright.engines.sglang.pool import fill
from serveright.engines.vllm.layout import request_blocks
from serveright.engines.vllm.plan import plan
from serveright.engines.vllm.specs import GROWING
from serveright.errors import UserError
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.hardware import Gpu
from serveright.types.source import ModelFiles

REST_GIB = 40.0
AT_LOAD = ("sglang-heads-not-divisible",)
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "nvfp4": "float4_e2m1fn_x2"}


def answer(engine: str, version: str, job: dict[str, Any], gpu: Gpu) -> dict[str, Any]:
    """One row for one job; `error` where we say the engine refuses, or cannot read the config."""
    try:
        return job["row"] | sized(engine, version, job, gpu, model_files(Path(job["folder"])))
    except UserError as problem:
        return job["row"] | {"error": str(problem.message)}


def sized(engine: str, version: str, job: dict[str, Any], gpu: Gpu, files: ModelFiles) -> dict[str, Any]:
    """The fields of a row for a config at hand; `job`: tp, kv, mtp, flags, lengths."""
    settings = asked(engine, job)
    return (_vllm if engine == "vllm" else _sglang)(version, job, gpu, files, settings)


def model_files(folder: Path) -> ModelFiles:
    """The folder the engine was given, read by us."""
    beside = folder / "hf_quant_config.json"
    quant: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
    return ModelFiles(id=folder.name, origin=str(folder), config=json.loads((folder / "config.json").read_text(encoding="utf-8")), hf_quant_config=quant)


def asked(engine: str, job: dict[str, Any]) -> Settings:
    """The job in engine-free words; an engine argument nobody translated stops the comparison rather than being dropped."""
    known = {
        "max_num_batched_tokens": "token_budget",
        "chunked_prefill_size": "token_budget",
        "enable_prefix_caching": "prefix_caching",
        "block_size": "block_tokens",
    }
    turned = {"disable_radix_cache": "prefix_caching"}
    strange = job["flags"].keys() - known.keys() - turned.keys() - {"enable_expert_parallel"}
    if strange:
        raise SystemExit(f"--compare cannot translate {', '.join(sorted(strange))}")
    more = {known[name]: value for name, value in job["flags"].items() if name in known}
    more |= {turned[name]: not value for name, value in job["flags"].items() if name in turned}
    ep = job["tp"] if job["flags"].get("enable_expert_parallel") else 1
    kv_dtype = None if engine == "sglang" and job["kv"] == "auto" else job["kv"]
    draft = {"speculative_method": "mtp", "speculative_tokens": job["mtp"]} if job["mtp"] else {}
    # vLLM is told the longest request as its context; SGLang keeps the model's own, which its request limit hangs on.
    context = max(job["lengths"]) if engine == "vllm" else None
    return Settings(parallel=Parallel(tp=job["tp"], ep=ep), context_tokens=context, kv_dtype=kv_dtype, **draft, **more)


def _vllm(version: str, job: dict[str, Any], gpu: Gpu, files: ModelFiles, settings: Settings) -> dict[str, Any]:
    made = plan(read_model(files), read_checkpoint(files), gpu, load_vllm_behaviour(version), settings)
    if made.refusals:
        return {"error": made.refusals[0].text}
    return {
        "block_size": made.block,
        "num_groups": len(made.whole),
        "pool_bytes_per_block": made.pool_block_bytes,
        "bytes_per_token_total_per_gpu": sum(x.spec.bytes_per_token for x in made.layers if x.spec.kind in GROWING),
        "state_bytes_per_seq_per_gpu": sum(x.spec.content for x in made.layers if x.spec.kind == "state"),
        "bytes_for_one_request": {str(n): made.pool_block_bytes * request_blocks(made, n) for n in job["lengths"]},
        "max_num_batched_tokens": made.schedule.token_budget,
        "max_in_flight_tokens": made.schedule.in_flight_tokens,
        "attn_backends": sorted(r.name for r in made.readers),
        **({"moe_backends": [made.experts.upper()]} if made.experts else {}),
    }


def _sglang(version: str, job: dict[str, Any], gpu: Gpu, files: ModelFiles, settings: Settings) -> dict[str, Any]:
    shape, checkpoint, behaviour = read_model(files), read_checkpoint(files), load_sglang_behaviour(version)
    at = situation(shape, checkpoint, gpu, behaviour)
    args = decide(at, settings)
    pool = fill(args, at, REST_GIB)
    refusals = (*args.refusals, *pool.refusals)
    # Nothing is built there: what a layer's own constructor refuses, the engine's configuration code does not see.
    seen = [r for r in refusals if r.code not in AT_LOAD]
    if seen:
        return {"error": seen[0].text}
    lay, out = layout(shape, checkpoint, gpu, behaviour, settings), resolved_of(args, at)
    state = {"state": {"bytes_per_slot": lay.state_bytes_per_slot, "slots_per_request": lay.state_slots_per_request}} if lay.state_bytes_per_slot else {}
    return state | {
        "kv_dtype": DTYPES.get(out.kv_dtype, out.kv_dtype),
        "kv_bytes_per_token_per_gpu": lay.pool_bytes_per_token,
        "resolved": {"page_size": args.page, "mem_fraction_static": args.mem_fraction, "chunked_prefill_size": args.chunk},
        "pool_at_40GiB_rest_memory": {"max_total_num_tokens": pool.tokens, "max_running_requests": pool.running},
    }
