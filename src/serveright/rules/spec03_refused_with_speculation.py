"""Speculation together with something it does not work with.

## What it catches
Pipeline parallelism, a disaggregated decode server with a radix cache, ngram or a draft model on vLLM's second runner, PCP, SGLang's LMCache.

## Why it matters
Refused at start, or a silent change of text.

## Example
`--disaggregation-decode-enable-radix-cache --speculative-algorithm EAGLE`.

## Fix
Drop one of the two.

## Versions
As the finding says.

## Sources
github.com/sgl-project/sglang/issues/39150; github.com/intel/intel-xpu-backend-for-triton/issues/7322; github.com/vllm-project/vllm/issues/57755, 52761
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SPEC03"
NAME = "refused-with-speculation"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad(
        "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode decode --disaggregation-decode-enable-radix-cache --speculative-algorithm EAGLE",
        version="0.5.16",
    ),
    bad('vllm serve Qwen/Qwen3-32B --speculative-config \'{"method":"ngram","num_speculative_tokens":3}\'', version="0.24.0"),
    good('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\''),
)


def check(context: Context) -> Iterator[Hit]:
    """Known pairs."""
    yield from defect_hits(context, "SPEC03")
    speculation = context.speculation
    if speculation is None:
        return
    method = speculation[0]
    flag = "--speculative-config" if context.vllm else "--speculative-algorithm"
    if context.vllm and method in ("ngram", "draft_model") and context.between("0.23.0", "0.33.0") and context.env("VLLM_USE_V2_MODEL_RUNNER") != "0":
        yield Hit(
            message=msg("{method} is not in the second model runner of vLLM {version}", method=method, version=context.version),
            why=msg("where that runner is chosen the method is refused"),
            fix=msg("Set VLLM_USE_V2_MODEL_RUNNER=0, or use eagle or mtp."),
            flag=flag,
            confidence="possible",
        )
    if context.vllm and context.layout.pp > 1:
        yield Hit(
            message=msg("speculation with pipeline parallelism"),
            why=msg("the draft needs the last stage's hidden states, and stages pass on one token a step: most releases refuse the pair"),
            fix=msg("Drop one of the two."),
            flag=flag,
            confidence="possible",
        )
    if not context.vllm and context.dp_attention > 1 and method.upper() == "STANDALONE":
        yield Hit(
            message=msg("a standalone draft with DP attention"),
            why=msg("SGLang refuses the pair"),
            fix=msg("Drop one of the two."),
            flag=flag,
            severity="error",
        )
