"""The size of the cache is set by hand, past the profile.

## What it catches
`--num-gpu-blocks-override`, `--max-total-tokens`, `--kv-cache-memory-bytes`, or `VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0`.

## Why it matters
The profile run is ignored: memory goes unused, or the server runs out of it under load.

## Example
A block count measured on another GPU, another release, another model length.

## Fix
Remove it; set a memory share instead.

## Versions
All.

## Sources
vLLM v1/worker/gpu_worker.py; SGLang model_executor
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM09"
NAME = "pool-by-hand"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 1000"),
    good("vllm serve Qwen/Qwen3-8B"),
)
_FLAGS = ("--num-gpu-blocks-override", "--max-total-tokens", "--kv-cache-memory-bytes", "--kv-cache-memory")


def check(context: Context) -> Iterator[Hit]:
    """Each of the overrides."""
    for name in _FLAGS:
        given = context.flag(name)
        if given is not None:
            yield Hit(
                message=msg("{flag} sets the cache by hand", flag=given.written),
                why=msg("the profile run is ignored; the number fits one GPU, release and length"),
                fix=msg("Remove it and set a memory share."),
                flag=given.written,
                edits=without(given, safe=False),
            )
    if context.env("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") == "0":
        yield Hit(
            message=msg("the estimate of graph memory is switched off"),
            why=msg("graphs then come on top of the share: out of memory in capture"),
            fix=msg("Unset VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS."),
            location=context.command.env["VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"].location,
            effect="crash",
        )
