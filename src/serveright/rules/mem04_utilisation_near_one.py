"""The memory share leaves nothing for what is not counted.

## What it catches
`--gpu-memory-utilization` of 0.97 and more on cards up to 32 GB, 0.95 and more otherwise, with CUDA graphs on; SGLang `--mem-fraction-static` above 0.93.

## Why it matters
Graph capture, NCCL and the allocator's gaps come on top of the estimate: OOM in capture or under load.

## Example
0.98 on a 24 GB laptop card: OOM after the cache was allocated, 0.97 works.

## Fix
vLLM: 0.90 to 0.94. SGLang: leave it out, its own share counts graphs and chunk.

## Versions
All. Since 0.20 graph memory is estimated inside the budget, with a small pool.

## Sources
github.com/vllm-project/vllm/issues/57475, 11251
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import leave_share_out
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM04"
NAME = "utilisation-near-one"
SEVERITY = "note"
EFFECT = "crash"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.98", gpu="1xrtx-4090"),
    good("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.92", gpu="1xrtx-4090"),
)


def check(context: Context) -> Iterator[Hit]:
    """The share against a bound by card size."""
    share = context.settings.mem_fraction
    small = context.gpu is not None and context.gpu.memory_bytes < 34 * 2**30
    if share is None:
        return
    if context.vllm and share > 1:
        yield Hit(
            message=msg("--gpu-memory-utilization {share}: a share of total memory, at most 1", share=share),
            why=msg("the engine refuses"),
            fix=msg("Give a share such as 0.92."),
            flag="--gpu-memory-utilization",
            severity="error",
            confidence="certain",
        )
        return
    bound = 0.95 if context.vllm else 0.93
    if share < bound or context.settings.eager:
        return
    yield Hit(
        message=msg("{share:pct} of the memory is taken before graphs, NCCL and the allocator's gaps", share=share),
        why=msg("they come on top of the estimate: out of memory in capture or under load"),
        fix=msg("Use 0.90 to 0.94.") if context.vllm else leave_share_out(context, msg("Leave it out: SGLang works the share out from GPU, chunk and graphs.")),
        flag="--gpu-memory-utilization" if context.vllm else "--mem-fraction-static",
        severity="warning" if small and share >= 0.97 else None,
        confidence="likely" if small and share >= 0.97 else None,
    )
