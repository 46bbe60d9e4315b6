"""Wide expert parallelism without load balancing of experts.

## What it catches
Expert parallelism over eight or more GPUs without `--enable-eplb`.

## Why it matters
Hot experts make one GPU the straggler of every step; prefill suffers most. Rebalancing gained 17 % with no redundant expert at all in one report.

## Example
DeepSeek-V4-Pro, EP 8 with DP attention.

## Fix
`--enable-eplb` (0 redundant experts already helps). No use where decode is bound by launches.

## Versions
vLLM since 0.10, SGLang since 0.4.7.

## Sources
github.com/ROCm/ATOM/pull/1210
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR09"
NAME = "wide-experts-unbalanced"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 1 -dp 8 --enable-expert-parallel", gpu="8xh200"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 1 -dp 8 --enable-expert-parallel --enable-eplb", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Wide EP without EPLB."""
    if not context.moe or context.layout.ep < 8 or context.on("--enable-eplb"):
        return
    yield Hit(
        message=msg("experts over {ep} GPUs without load balancing", ep=context.layout.ep),
        why=msg("the GPU with the hottest experts sets the step; worst in prefill and with skewed traffic"),
        fix=msg("Try --enable-eplb; watch tokens per rank (largest / mean above 1.3)."),
        flag="--enable-expert-parallel" if context.vllm else "--ep-size",
    )
