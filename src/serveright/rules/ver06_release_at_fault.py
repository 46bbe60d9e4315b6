"""A release with a known fault for this model and GPU.

## What it catches
Engine, version, model and GPU in the table of known regressions.

## Why it matters
The flags are right; searching them is lost time.

## Example
A vision model on B200 with SGLang before 0.5.6.

## Fix
Another release, or the workaround named.

## Versions
As listed.

## Sources
facts/defects.toml
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "VER06"
NAME = "release-at-fault"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-VL-8B-Instruct", gpu="1xb200", version="0.5.4"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-VL-8B-Instruct", gpu="1xb200", version="0.5.23"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "VER06")
