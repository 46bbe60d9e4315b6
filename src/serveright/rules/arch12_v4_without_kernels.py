"""DeepSeek-V4 on a GPU or release without its kernels.

## What it catches
Compressed latent attention (DeepSeek-V4) below sm_90, or on sm_12x with a release before support.

## Why it matters
The hyper-connection GEMM lives in DeepGEMM; even eager mode fails.

## Example
DeepSeek-V4-Flash on 8 A800.

## Fix
Hopper or newer; sm_12x from vLLM 0.24 and SGLang 0.5.17 on. Below sm_90 only community forks.

## Versions
As above; 0.26.0 pins a DeepGEMM that fails on sm_12x.

## Sources
github.com/vllm-project/vllm/issues/40851; vLLM 0.33.0 models/deepseek_v4
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, gpu_name
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH12"
NAME = "v4-without-kernels"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 8", gpu="8xa100-80gb-sxm"),
    good("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 4", gpu="4xb200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Capability, then the release."""
    if not context.compressed or context.sm is None:
        return
    if context.sm < 90:
        yield Hit(
            message=msg("{gpu} has no DeepSeek-V4 kernels in mainline", gpu=gpu_name(context)),
            why=msg("the hyper-connection GEMM and the indexer live in DeepGEMM, which begins at sm_90"),
            fix=msg("Use Hopper or newer; below it only community forks run."),
        )
        return
    yield from defect_hits(context, "ARCH12", "warning")
