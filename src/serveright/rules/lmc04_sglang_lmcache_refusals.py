"""LMCache in SGLang with something it does not work with.

## What it catches
`--enable-lmcache` with the hierarchical cache, no radix cache, speculation, DP attention, DCP or disaggregation.

## Why it matters
SGLang refuses at start with ValueError or NotImplementedError.

## Example
`--enable-lmcache --speculative-algorithm EAGLE`.

## Fix
Drop one of the two.

## Versions
SGLang 0.5.23.

## Sources
SGLang 0.5.23 arg_groups/kv_cache_hook.py, hicache_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "LMC04"
NAME = "sglang-lmcache-refusals"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("PYTHONHASHSEED=0 python -m sglang.launch_server --model-path Qwen/Qwen3-32B --enable-lmcache --speculative-algorithm EAGLE"),
    good("PYTHONHASHSEED=0 python -m sglang.launch_server --model-path Qwen/Qwen3-32B --enable-lmcache"),
)


def check(context: Context) -> Iterator[Hit]:
    """Each refusal of the hook."""
    if context.vllm or not context.on("--enable-lmcache") or not context.since("0.5.13"):
        return
    others = (
        ("--enable-hierarchical-cache", bool(context.on("--enable-hierarchical-cache"))),
        ("--disable-radix-cache", bool(context.on("--disable-radix-cache"))),
        ("--speculative-algorithm", context.speculation is not None),
        ("--dp-size", context.dp_attention > 1),
        ("--dcp-size", context.layout.dcp > 1),
        ("--disaggregation-mode", context.value("--disaggregation-mode") in ("prefill", "decode")),
    )
    for flag, given in others:
        if given:
            yield Hit(
                message=msg("--enable-lmcache does not work with {flag}", flag=flag),
                why=msg("SGLang refuses the pair at start"),
                fix=msg("Drop one of the two."),
                flag=flag,
            )
