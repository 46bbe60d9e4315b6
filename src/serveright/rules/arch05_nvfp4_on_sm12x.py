"""NVFP4 weights on consumer Blackwell with a release before the sm_12x kernels.

## What it catches
An NVFP4 checkpoint on sm_120 or sm_121 with vLLM up to 0.18.

## Why it matters
Illegal instruction in decode, garbage output, or tactics slower than Marlin.

## Example
Nemotron-3-Nano NVFP4 on RTX 5090 with vLLM 0.18.

## Fix
Upgrade; until then select Marlin for FP4 weights and always run a correctness probe.

## Versions
vLLM before 0.19 (from dates), FlashInfer up to 0.6.6.

## Sources
github.com/vllm-project/vllm/pull/38423
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "ARCH05"
NAME = "nvfp4-on-sm12x"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve nvidia/Qwen3-30B-A3B-NVFP4", gpu="1xrtx-5090", version="0.18.0"),
    good("vllm serve nvidia/Qwen3-30B-A3B-NVFP4", gpu="1xrtx-5090", version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "ARCH05")
