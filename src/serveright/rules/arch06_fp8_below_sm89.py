"""An FP8 checkpoint on a GPU without FP8, in an engine or release without a weight-only path.

## What it catches
FP8 weights on sm_80 or sm_86: mixture-of-experts models in SGLang, block-scaled ones in vLLM before 0.9.

## Why it matters
Triton has no e4m3 below sm_89 ("type fp8e4nv not supported"); vLLM falls back to weight-only Marlin, slower in prefill.

## Example
Qwen3-VL-235B-FP8 on A100: works in vLLM, fails in SGLang.

## Fix
Recent vLLM, or an INT4, INT8 or BF16 checkpoint.

## Versions
SGLang: dense FP8 has Marlin since 0.5; its MoE path has not been seen on sm_8x. vLLM: Marlin for block FP8 since 0.9.

## Sources
github.com/sgl-project/sglang/issues/12887; github.com/vllm-project/vllm/issues/15336; vLLM 0.33.0 utils/marlin_utils_fp8.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, gpu_name
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH06"
NAME = "fp8-below-sm89"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B-FP8 --tp 4", gpu="8xa100-80gb-sxm"),
    good("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 4", gpu="8xa100-80gb-sxm"),
)


def check(context: Context) -> Iterator[Hit]:
    """FP8 weights below sm_89."""
    sm = context.sm
    if sm is None or sm >= 89 or not context.is_format("fp8"):
        return
    if context.vllm:
        yield from defect_hits(context, "ARCH06", "error")
        return
    if context.moe:
        yield Hit(
            message=msg("FP8 experts on {gpu}: SGLang has no path below sm_89", gpu=gpu_name(context)),
            why=msg("e4m3 does not exist in Triton below sm_89; vLLM falls back to weight-only Marlin"),
            fix=msg("Use vLLM, or an INT4, INT8 or BF16 checkpoint."),
            sources=("github.com/sgl-project/sglang/issues/12887",),
        )
