"""Runs of vLLM's own sizing code as tests: what was asked, and what our plan must answer."""

import json
from pathlib import Path
from typing import Any

from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm.layout import request_blocks
from serveright.engines.vllm.plan import Plan, plan
from serveright.engines.vllm.specs import GROWING
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.hardware import Gpu, Interconnect
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.source import ModelFiles
from serveright.units import GIB

FAKED = {
    "8.0": (80, "NVIDIA A100-SXM4-80GB"),
    "8.9": (45, "NVIDIA L40S"),
    "9.0": (141, "NVIDIA H200"),
    "10.0": (180, "NVIDIA B200"),
    "10.3": (270, "NVIDIA B300"),
    "12.0": (95, "NVIDIA RTX PRO 6000 Blackwell"),
}
"""Memory in GiB and device name that the engine saw at each capability."""
KINDS = {
    "full": "full_attention",
    "latent": "mla_attention",
    "window": "sliding_window",
    "window_latent": "sliding_window_mla",
    "state": "mamba",
    "chunked": "chunked_local_attention",
}


def gpu(capability: str) -> Gpu:
    """The device the engine was made to see."""
    memory, name = FAKED[capability]
    major, minor = capability.split(".")
    return Gpu(
        key=name,
        name=name,
        vendor="nvidia",
        architecture="",
        capability=(int(major), int(minor)),
        memory_bytes=memory * GIB,
        memory_marketing_bytes=0,
        bandwidth_bytes_per_s=1,
        flops={},
        interconnect=Interconnect(kind="none"),
        gpus_per_node=8,
    )


def files(folder: Path, model: str, *, beside: bool) -> ModelFiles:
    """A config of the shared material, with its hf_quant_config.json where the run had it."""
    name = model.replace("/", "--")
    config = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    extra = json.loads((folder / f"{name}_hf_quant_config.json").read_text(encoding="utf-8")) if beside else {}
    return ModelFiles(id=model, origin=name, config=config, hf_quant_config=extra)


def settings(row: dict[str, Any]) -> Settings:
    """What the run asked for."""
    tag = row.get("tag") or ""
    tokens = row.get("num_speculative_tokens", row.get("mtp")) or 0
    budget = row["max_num_batched_tokens"] if row.get("how") == "derived" else None
    return Settings(
        parallel=Parallel(tp=row["tp"]),
        context_tokens=131072,
        kv_dtype=row["kv_dtype"],
        token_budget=int(tag.split("=")[1]) if tag.startswith("max_num_batched_tokens=") else budget,
        prefix_caching=False if tag == "no_prefix_caching" else None,
        speculative_method="mtp" if tokens else None,
        speculative_tokens=tokens,
        extra={"disable-hybrid-kv-cache-manager": "true"} if tag == "disable_hybrid_kv_cache_manager" else {},
    )


def run(row: dict[str, Any], folder: Path) -> Plan:
    """Our plan for a run over the shared configs."""
    tag = row.get("tag") or ""
    found = files(folder, row["model"], beside="hf_quant_config" in tag)
    shape = read_model(found)
    stripped = Checkpoint(method="none", format="bf16", dtype=shape.dtype)
    return planned(row, shape, read_checkpoint(found) if "quant_config_kept" in tag else stripped)


def planned(row: dict[str, Any], shape: ModelShape, checkpoint: Checkpoint) -> Plan:
    """Our plan for a run over a shape."""
    return plan(shape, checkpoint, gpu(row["cc"]), load_vllm_behaviour(row.get("vllm", "0.33.0")), settings(row))


def answer(made: Plan, lengths: tuple[str, ...] = ("32768", "131072")) -> dict[str, Any]:
    """What the plan says, in the run's own keys."""
    return {
        "resolved_cache_dtype": made.site.cache_dtype,
        "attn_backends": sorted(r.name for r in made.readers),
        "kv_layout": made.page_layout,
        "block_size": made.block,
        "enable_prefix_caching": made.prefix_caching,
        "num_cache_layers": len(made.layers),
        "num_groups": len(made.whole),
        "groups": [[KINDS.get(g.first.kind, g.first.kind), len(g.layers), g.block, g.page_sum, g.wrapped] for g in made.whole],
        "pool_bytes_per_block": made.pool_block_bytes,
        "bytes_per_token_total_per_gpu": sum(x.spec.bytes_per_token for x in made.layers if x.spec.kind in GROWING),
        "state_bytes_per_seq_per_gpu": sum(x.spec.content for x in made.layers if x.spec.kind == "state"),
        "bytes_for_one_request": {n: made.pool_block_bytes * request_blocks(made, int(n)) for n in lengths},
        "max_num_batched_tokens": made.schedule.token_budget,
        "max_num_seqs": made.schedule.max_num_seqs,
        "max_in_flight_tokens": made.schedule.in_flight_tokens,
    }


def expected(row: dict[str, Any]) -> dict[str, Any]:
    """What the engine said, in the same keys."""
    groups = [[g["kind"], g["num_layers"], g["block_size"], g["sum_page_bytes"], g["uniform_wrapper"]] for g in row["groups"]]
    return {key: row[key] for key in answer_keys() if key != "groups"} | {"groups": groups}


def answer_keys() -> tuple[str, ...]:
    """Keys compared."""
    return (
        "resolved_cache_dtype",
        "attn_backends",
        "kv_layout",
        "block_size",
        "enable_prefix_caching",
        "num_cache_layers",
        "num_groups",
        "groups",
        "pool_bytes_per_block",
        "bytes_per_token_total_per_gpu",
        "state_bytes_per_seq_per_gpu",
        "bytes_for_one_request",
        "max_num_batched_tokens",
        "max_num_seqs",
        "max_in_flight_tokens",
    )
