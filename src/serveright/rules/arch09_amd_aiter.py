"""AMD: AITER left off on Instinct, or counted on where it does not exist.

## What it catches
vLLM on MI300 or MI350 without `VLLM_ROCM_USE_AITER=1`; AITER or FP8 asked for on Radeon; the FP4 batched matmul defect of 0.15 and 0.16.

## Why it matters
Without AITER: Triton experts and ROCM_ATTN, 1.7 times slower at short and 3.7 times at 12k context. On Radeon the variable is ignored and FP8 may be dequantised.

## Example
`vllm serve deepseek-ai/DeepSeek-V3` on 8 MI300X with eager mode and no AITER.

## Fix
`VLLM_ROCM_USE_AITER=1`; on MI300X with 0.15 to 0.16 also `VLLM_ROCM_USE_AITER_FP4BMM=0`.

## Versions
vLLM through September 2026.

## Sources
github.com/vllm-project/vllm/issues/31653, 34641; vLLM platforms/rocm.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH09"
NAME = "amd-aiter"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 8", gpu="8xmi300x"),
    good("VLLM_ROCM_USE_AITER=1 vllm serve deepseek-ai/DeepSeek-V3 -tp 8", gpu="8xmi300x"),
)


def check(context: Context) -> Iterator[Hit]:
    """The variable against the GPU."""
    if not context.amd or not context.vllm or context.gpu is None:
        return
    yield from defect_hits(context, "ARCH09")
    instinct = "CDNA" in context.gpu.architecture.upper()
    asked = context.env("VLLM_ROCM_USE_AITER")
    if instinct and asked is None:
        yield Hit(
            message=msg("VLLM_ROCM_USE_AITER is not set on {gpu}", gpu=context.gpu.name),
            why=msg("without it experts run in Triton and attention in ROCM_ATTN: 1.7 times slower at short, 3.7 times at 12k context"),
            fix=msg("Set VLLM_ROCM_USE_AITER=1."),
            severity="note",
        )
    if not instinct and asked == "1":
        yield Hit(
            message=msg("AITER does not exist for {gpu}: VLLM_ROCM_USE_AITER=1 is ignored", gpu=context.gpu.name),
            why=msg("it covers Instinct only"),
            fix=msg("Unset it."),
            location=context.command.env["VLLM_ROCM_USE_AITER"].location,
            effect="dead_flag",
        )
