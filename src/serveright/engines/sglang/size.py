"""The whole of step 2 for SGLang: choices, layout, memory and what it holds, from one call."""

from msgspec.structs import replace

from serveright.engines.sglang.capacity import capacity_of
from serveright.engines.sglang.decide import decide, resolved_of, situation
from serveright.engines.sglang.layout import layout_of
from serveright.engines.sglang.pool import NO_KV_MEMORY, Pool, fill
from serveright.engines.sglang.split import split_of
from serveright.types.engine import EngineLayout, MemorySplit, Settings, Sized
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.sglang import SglangBehaviour, SglangMemory
from serveright.types.text import msg

_GIB = 2**30


def size(
    shape: ModelShape,
    checkpoint: Checkpoint,
    weight_bytes_per_gpu: int,
    gpu: Gpu,
    behaviour: SglangBehaviour,
    calibration: SglangMemory,
    settings: Settings,
    context_tokens: int,
    drafter: ModelShape | None = None,
) -> Sized:
    """What SGLang decides and holds for requests of `context_tokens`, on one GPU of the deployment and in total.

    `drafter`: a draft model of its own, whose weights are among the given ones and whose rows lie beside the target's.
    A layout that cannot be computed because the engine refuses it stands with what could be: read `fits` and `refusals` first.
    """
    at = situation(shape, checkpoint, gpu, behaviour, drafter)
    args = decide(at, settings)
    memory = split_of(args, at, gpu, weight_bytes_per_gpu, calibration)
    lay = layout_of(args, at)
    pool = _told(fill(args, at, memory.kv_pool_bytes / _GIB), memory)
    held = capacity_of(args, at, lay, pool, context_tokens)
    resolved = replace(resolved_of(args, at), max_num_seqs=pool.running * args.attn_dp)
    return Sized(resolved=resolved, settings=settings, layout=lay, memory=memory, capacity=held)


def _told(pool: Pool, memory: MemorySplit) -> Pool:
    """The refusal of an empty pool with what is missing."""
    if memory.kv_pool_bytes or not memory.excess_bytes:
        return pool
    why = msg("weights and what loading takes exceed the static memory share by {excess:gib}: nothing is left for the KV cache", excess=memory.excess_bytes)
    return replace(pool, refusals=tuple(replace(r, why=why) if r.code.endswith(NO_KV_MEMORY) else r for r in pool.refusals))


def layout(
    shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: SglangBehaviour, settings: Settings, drafter: ModelShape | None = None
) -> EngineLayout:
    """How the cache lies on one GPU. Source: model_executor/pool_configurator.py of the version's wheel."""
    at = situation(shape, checkpoint, gpu, behaviour, drafter)
    return layout_of(decide(at, settings), at)
