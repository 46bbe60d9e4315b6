"""Where one GPU's memory goes: budget, weights, what the profile run takes, and what is left for the cache.

Follows `v1/worker/gpu_worker.py` determine_available_memory; the overhead comes from calibration data, with its spread.
"""

from math import ceil

from serveright.engines.vllm.plan import Plan
from serveright.types.derivation import Derivation
from serveright.types.engine import MemorySplit, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Ffn, Latent, Layer, ModelShape, Recurrent
from serveright.types.text import msg
from serveright.types.vllm import VllmMemory

UNIFIED_SM = (110, 121)
"""Devices that share memory with the host: Jetson Thor and GB10."""


def split(shape: ModelShape, plan: Plan, weight_bytes_per_gpu: int, gpu: Gpu, calibration: VllmMemory, settings: Settings) -> MemorySplit:
    """The split in bytes. `--kv-cache-memory-bytes` in `Settings.extra` takes the cache's size as given, as the engine does."""
    fraction = settings.mem_fraction or plan.site.behaviour.mem_fraction
    budget = ceil(gpu.memory_bytes * fraction)
    parts = overhead_parts(shape, plan, gpu, calibration, settings)
    overhead = sum(parts.values())
    given = settings.extra.get("kv-cache-memory-bytes")
    pool = int(given) if given else max(0, budget - weight_bytes_per_gpu - overhead)
    low, high = (round(overhead * share) for share in calibration.spread)
    return MemorySplit(
        device_bytes=gpu.memory_bytes,
        budget_bytes=budget,
        weights_bytes=weight_bytes_per_gpu,
        overhead_bytes=overhead,
        kv_pool_bytes=pool,
        overhead_range=(low, min(high, max(overhead, budget))),
        overhead_parts=parts,
        derivation=tuple(_derive(gpu, fraction, budget, weight_bytes_per_gpu, overhead, pool, calibration) if not given else ()),
    )


def overhead_parts(shape: ModelShape, plan: Plan, gpu: Gpu, calibration: VllmMemory, settings: Settings) -> dict[str, int]:
    """What the profile run takes beyond the weights, in bytes by cause."""
    parallel, times, behaviour = settings.parallel, plan.schedule, plan.site.behaviour
    requests = min(times.max_num_seqs, times.token_budget)
    logits = calibration.logit_bytes[behaviour.sampler].value * requests * shape.vocab
    forward = calibration.forward[kind(shape)].value * token_bytes(shape, settings) * times.token_budget
    counted = behaviour.graphs_counted and not settings.eager
    return {
        "context": round(calibration.context[device_class(gpu)].value),
        "collective": round(calibration.collective[reach(gpu, settings)].value) if parallel.gpus > 1 else 0,
        "activations": round(max(logits, forward)),
        "graphs": round(calibration.graphs.value) if counted else 0,
    }


def device_class(gpu: Gpu) -> str:
    """discrete, or unified with the host's memory."""
    return "unified" if gpu.sm in UNIFIED_SM else "discrete"


def reach(gpu: Gpu, settings: Settings) -> str:
    """Whether one deployment stays within a node."""
    return "node" if settings.parallel.gpus <= gpu.gpus_per_node else "nodes"


def kind(shape: ModelShape) -> str:
    """The part of a model that sets its activation peak."""
    mixers = [m for layer in shape.layers for m in layer.mixers]
    if any(isinstance(m, Latent) and m.indexer for m in mixers):
        return "sparse_latent"
    if any(isinstance(m, Recurrent) for m in mixers):
        return "hybrid"
    return "moe" if any(f.kind == "moe" for layer in shape.layers for f in layer.ffns) else "dense"


def token_bytes(shape: ModelShape, settings: Settings) -> int:
    """Bytes (16-bit) one token's activations take in the widest layer on one GPU: residual, projections, and the feed-forward at its widest."""
    tp = settings.parallel.tp
    return 2 * max((_layer_width(layer, shape.hidden, tp) for layer in shape.layers), default=shape.hidden)


def _layer_width(layer: Layer, hidden: int, tp: int) -> int:
    mixing = max((_mixer_width(m) // tp for m in layer.mixers), default=0)
    feeding = sum(_ffn_width(f, hidden, tp) for f in layer.ffns)
    return 2 * hidden + max(mixing, feeding)


def _mixer_width(mixer: object) -> int:
    if isinstance(mixer, Attention):
        return 2 * mixer.query_heads * mixer.head_dim + mixer.kv_heads * (mixer.head_dim + mixer.v_head_dim)
    if isinstance(mixer, Latent):
        return mixer.query_heads * (2 * (mixer.nope_dim + mixer.rope_dim) + 2 * mixer.v_head_dim)
    if isinstance(mixer, Recurrent):
        return 2 * mixer.conv_channels + 2 * mixer.state_heads * max(mixer.value_dim, 1)
    return 0


def _ffn_width(ffn: Ffn, hidden: int, tp: int) -> int:
    halves = 3 if ffn.gated else 2
    if ffn.kind == "dense":
        return halves * ffn.intermediate // tp
    routed = ffn.experts_per_token * (halves * ffn.intermediate // tp + (ffn.latent_dim or hidden))
    return routed + halves * ffn.shared_experts * ffn.shared_intermediate // tp


def _derive(gpu: Gpu, fraction: float, budget: int, weights: int, overhead: int, pool: int, calibration: VllmMemory) -> list[Derivation]:
    return [
        Derivation(
            name="budget_bytes",
            formula="ceil(device_bytes * mem_fraction)",
            values={"device_bytes": gpu.memory_bytes, "mem_fraction": fraction},
            result=budget,
            unit="B",
            reason=msg("the share of the whole device that vLLM may use"),
            source="vLLM v1/worker/utils.py request_memory",
        ),
        Derivation(
            name="kv_pool_bytes",
            formula="max(0, budget_bytes - weights_bytes - overhead_bytes)",
            values={"budget_bytes": budget, "weights_bytes": weights, "overhead_bytes": overhead},
            result=pool,
            unit="B",
            reason=msg("what weights and the profile run leave; the overhead is fitted on {rows} start-ups", rows=calibration.rows),
            source=calibration.source,
        ),
    ]
