"""A host-memory cache tier with recurrent states.

## What it catches
SGLang `--enable-hierarchical-cache` on a hybrid model.

## Why it matters
Host hits were reported to give fluent but wrong answers: rows come back, the state that belongs to them does not.

## Example
Qwen3-Next with hicache.

## Fix
Leave it off until fixed; compare a cold, a warm and a host hit.

## Versions
SGLang through September 2026.

## Sources
SGLang mem_cache; a comparison of cold, warm and host answers decides
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "HYB07"
NAME = "host-tier-with-states"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 --enable-hierarchical-cache"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --enable-hierarchical-cache"),
)


def check(context: Context) -> Iterator[Hit]:
    """The tier on a model with states."""
    if context.vllm or not context.hybrid or not context.on("--enable-hierarchical-cache"):
        return
    yield Hit(
        message=msg("a host cache tier on a model with recurrent states"),
        why=msg("host hits were reported fluent but wrong; the state must come back with its rows"),
        fix=msg("Leave it off, or compare cold, warm and host answers first."),
        flag="--enable-hierarchical-cache",
        edits=without(context.flag("--enable-hierarchical-cache"), safe=False),
    )
