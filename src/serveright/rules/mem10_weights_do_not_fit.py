"""The weights do not fit the GPUs.

## What it catches
Weights of one GPU, as the layout splits them, larger than the memory the engine may use.

## Why it matters
Loading fails after minutes of reading.

## Example
A 70B model in BF16 on one 80 GB GPU.

## Fix
More shards, a quantised checkpoint, or a larger GPU.

## Versions
All.

## Sources
Arithmetic of this report
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM10"
NAME = "weights-do-not-fit"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve meta-llama/Llama-3.3-70B-Instruct", gpu="1xh100"),
    good("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4", gpu="4xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """Weights of one GPU against what it may use."""
    sized = context.sized
    offload = context.number("--cpu-offload-gb") or context.has("--cpu-offload-params", "--offload-params", "--offload-backend", "--offload-group-size")
    if sized is None or offload:
        return
    memory = sized.memory
    if memory.weights_bytes < memory.budget_bytes:
        return
    certain = memory.weights_bytes > memory.device_bytes
    yield Hit(
        message=msg(
            "{weights:gib} of weights a GPU; {budget:gib} of {device:gib} may be used",
            weights=memory.weights_bytes,
            budget=memory.budget_bytes,
            device=memory.device_bytes,
        ),
        why=msg("loading fails after minutes of reading"),
        fix=msg("Use more shards, a quantised checkpoint, or a larger GPU."),
        flag="--tensor-parallel-size",
        confidence=None if certain else "likely",
    )
