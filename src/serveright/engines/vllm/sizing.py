"""One model on one GPU layout in vLLM, from shape to the line the engine will print."""

from msgspec.structs import replace

from serveright.engines.vllm.capacity import capacity
from serveright.engines.vllm.layout import layout
from serveright.engines.vllm.memory import split
from serveright.engines.vllm.plan import plan
from serveright.engines.vllm.resolve import resolved
from serveright.types.engine import Resolved, Settings, Sized
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.vllm import VllmBehaviour, VllmMemory


def resolve(shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: VllmBehaviour, settings: Settings) -> Resolved:
    """vLLM's automatic choices and refusals, without sizing memory."""
    return resolved(plan(shape, checkpoint, gpu, behaviour, settings), shape, settings)


def size(
    shape: ModelShape,
    checkpoint: Checkpoint,
    weight_bytes_per_gpu: int,
    gpu: Gpu,
    behaviour: VllmBehaviour,
    calibration: VllmMemory,
    settings: Settings,
    context_tokens: int | None = None,
    drafter: ModelShape | None = None,
) -> Sized:
    """Step 2 for vLLM. `drafter`: a draft model of its own, whose weights are among the given ones. `context_tokens` is the longest request (default: the settings', else the model's own); weights are bytes on the fullest GPU.

    `capacity.max_concurrency` is bounded by max_num_seqs; `capacity.per_rank_concurrency` is the figure the engine itself logs.
    """
    context = context_tokens or settings.context_tokens or shape.max_context_tokens or behaviour.default_block
    settings = replace(settings, context_tokens=context)
    made = plan(shape, checkpoint, gpu, behaviour, settings, drafter)
    memory = split(shape, made, weight_bytes_per_gpu, gpu, calibration, settings)
    blocks = settings.extra.get("num-gpu-blocks-override")
    return Sized(
        resolved=resolved(made, shape, settings),
        settings=settings,
        layout=layout(made, context),
        memory=memory,
        capacity=capacity(made, memory, context, ranks=settings.parallel.dp, blocks=int(blocks) if blocks else None),
    )
