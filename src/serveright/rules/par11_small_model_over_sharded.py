"""A small model is spread over many GPUs.

## What it catches
Tensor parallelism of four or more where the weights fit one GPU with room to spare.

## Why it matters
Each step waits for two all-reduces a layer; GPUs idle below half. Copies serve more.

## Example
An 8B model at TP 8 on H100.

## Fix
`--data-parallel-size` or replicas; TP 2 where latency matters more than cost.

## Versions
All.

## Sources
vLLM docs on parallelism; arithmetic of this report
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR11"
NAME = "small-model-over-sharded"
SEVERITY = "note"
EFFECT = "cost"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B -tp 8", gpu="8xh100"),
    good("vllm serve Qwen/Qwen3-235B-A22B -tp 8", gpu="8xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """All weights against a third of one GPU."""
    need = context.facts.need
    if context.layout.tp < 4 or need is None or context.gpu is None or need.total_bytes > context.gpu.memory_bytes * 0.4:
        return
    yield Hit(
        message=msg("{size:gib} of weights over {tp} GPUs of {memory:gib}", size=need.total_bytes, tp=context.layout.tp, memory=context.gpu.memory_bytes),
        why=msg("one GPU holds the model; {tp} shards mostly wait for each other", tp=context.layout.tp),
        fix=msg("Prefer replicas or --data-parallel-size; keep shards only for latency or a very long context."),
        flag="--tensor-parallel-size",
    )
