"""Window layers are charged like full attention.

## What it catches
`--disable-hybrid-kv-cache-manager` (or SGLang's `--disable-hybrid-swa-memory`, or `--swa-full-tokens-ratio` near 1 for long contexts) on a model with windowed layers.

## Why it matters
Each windowed layer then keeps the whole context: Gemma-4-26B needs 29.5 instead of 6.3 GB for one long request.

## Example
A platform that passes the flag to every model.

## Fix
Remove the flag, and whatever forces it (some connectors, KV events).

## Versions
vLLM since 0.11, SGLang since 0.5.

## Sources
vLLM v1/core/kv_cache_utils.py; github.com/tenstorrent/tt-xla/issues/5727
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM14"
NAME = "windows-charged-in-full"
SEVERITY = "warning"
EFFECT = "capacity"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve google/gemma-4-31B-it --disable-hybrid-kv-cache-manager"),
    good("vllm serve google/gemma-4-31B-it"),
)


def check(context: Context) -> Iterator[Hit]:
    """The switch against the layers."""
    flag = "--disable-hybrid-kv-cache-manager" if context.vllm else "--disable-hybrid-swa-memory"
    given = context.flag(flag)
    if given is None or not context.on(flag):
        return
    windowed = sum(1 for mixer in context.attention if mixer.window_tokens or mixer.chunk_tokens)
    if not windowed and not context.hybrid:
        return
    yield Hit(
        message=msg("{flag} charges {layers} windowed layers for the whole context", flag=flag, layers=windowed or len(context.recurrent)),
        why=msg("a window of rows would do; every layer then keeps the full length"),
        fix=msg("Remove {flag}.", flag=flag),
        flag=flag,
        edits=without(given, safe=False),
    )
