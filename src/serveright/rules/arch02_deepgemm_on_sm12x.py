"""DeepGEMM is chosen on sm_12x by a release whose build lacks those kernels.

## What it catches
A block-FP8 checkpoint on RTX 50, RTX PRO 6000 or DGX Spark with vLLM 0.24.0 to 0.26.0.

## Why it matters
The server dies in warm-up or in weight post-processing.

## Example
A block-FP8 Gemma on RTX PRO 6000 with vLLM 0.24.0.

## Fix
`VLLM_USE_DEEP_GEMM=0`, or a later release. sm_121 needs its own check.

## Versions
vLLM 0.24.0 up to, not including, 0.26.1 (from dates).

## Sources
github.com/vllm-project/vllm/issues/47436
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "ARCH02"
NAME = "deepgemm-on-sm12x"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B-FP8", gpu="1xrtx-pro-6000", version="0.24.0"),
    good("VLLM_USE_DEEP_GEMM=0 vllm serve Qwen/Qwen3-32B-FP8", gpu="1xrtx-pro-6000", version="0.24.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "ARCH02")
