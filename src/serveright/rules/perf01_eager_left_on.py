"""CUDA graphs are switched off.

## What it catches
`--enforce-eager` or `--disable-cuda-graph`.

## Why it matters
Decode of small and mixture-of-experts models is three to ten times slower: the CPU launches every kernel. It is usually a workaround that was copied along.

## Example
A platform that adds `--enforce-eager` whenever a memory share is set.

## Fix
Remove it; keep it only where capture is known broken on this GPU.

## Versions
All.

## Sources
github.com/scaleapi/llm-engine/pull/851; github.com/vllm-project/vllm/issues/20112
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PERF01"
NAME = "eager-left-on"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --enforce-eager"),
    good("vllm serve Qwen/Qwen3-8B"),
)


def check(context: Context) -> Iterator[Hit]:
    """The switch, or its long form."""
    name = "--enforce-eager" if context.vllm else "--disable-cuda-graph"
    given = context.flag(name)
    mode = str(context.json("--compilation-config").get("cudagraph_mode", "")).upper() if context.vllm else ""
    if not context.on(name) and mode != "NONE":
        return
    yield Hit(
        message=msg("{flag}: CUDA graphs are off", flag=given.written if given else "cudagraph_mode NONE"),
        why=msg("the CPU launches every kernel: decode is 3 to 10 times slower on small and mixture-of-experts models"),
        fix=msg("Remove it unless capture is broken on this GPU."),
        flag=given.written if given else "--compilation-config",
        edits=without(given, safe=False),
    )
