"""A memory share chosen for an older release holds less cache today.

## What it catches
An explicit `--gpu-memory-utilization` of 0.9 or less on vLLM 0.20 and later.

## Why it matters
Since 0.20 the memory of CUDA graphs is taken out of the share; before, it came on top. The same number now gives a smaller cache.

## Example
0.82 carried from 0.18 to 0.27.

## Fix
Raise it to the value the log prints; do not switch the estimate off.

## Versions
vLLM since 0.20.0 (default 0.92 since then).

## Sources
vLLM v1/worker/gpu_worker.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM05"
NAME = "share-from-an-older-release"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.82", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-8B", gpu="1xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """An explicit share below the default."""
    share = context.settings.mem_fraction
    if not context.vllm or share is None or share > 0.9 or not context.since("0.20.0") or context.settings.eager:
        return
    better = context.what_if(mem_fraction=None)
    now = context.sized
    numbers = None
    if now is not None and better is not None and better.capacity.tokens > now.capacity.tokens:
        numbers = msg("{now:n} tokens as written, {better:n} with the default", now=now.capacity.tokens, better=better.capacity.tokens)
    yield Hit(
        message=msg("--gpu-memory-utilization {share}, below the default of 0.92", share=share),
        why=numbers or msg("since 0.20 CUDA graphs are taken out of this share; a number chosen earlier now holds less cache"),
        fix=msg("Drop it unless another process shares the GPU."),
        flag="--gpu-memory-utilization",
        edits=without(context.flag("--gpu-memory-utilization"), safe=False),
    )
