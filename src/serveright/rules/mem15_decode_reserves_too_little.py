"""A disaggregated decode server reserves too little for long answers.

## What it catches
SGLang `--disaggregation-mode decode` before 0.5.7.

## Why it matters
Only 4096 new tokens are reserved a request; a very long request kills the worker.

## Example
A decode worker of 0.5.6 behind clients that ask for 32k tokens.

## Fix
Upgrade; or a lower context length or in-flight count.

## Versions
SGLang before 0.5.7 (from dates).

## Sources
github.com/sgl-project/sglang/issues/14948
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "MEM15"
NAME = "decode-reserves-too-little"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode decode", version="0.5.6"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode decode", version="0.5.23"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "MEM15")
