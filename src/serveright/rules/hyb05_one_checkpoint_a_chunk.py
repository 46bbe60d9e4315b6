"""Recurrent states are kept once a chunk, and speculation moves the place.

## What it catches
A hybrid model with prefix caching and speculative decoding, or a very large token budget with multi-turn traffic.

## Why it matters
The state is saved at the last aligned boundary of each chunk only. When conversations part early, or drafts shift the boundary, cached tokens drop to zero.

## Example
Qwen3.6-27B with MTP: hits vanish.

## Fix
A budget near the block, speculation off for cache-heavy traffic.

## Versions
vLLM `mamba_cache_mode align`; a wrong boundary in 0.26 and 0.27 with several cache groups.

## Sources
github.com/vllm-project/vllm/issues/45238, 54076
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, prefix_on
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "HYB05"
NAME = "one-checkpoint-a-chunk"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve Qwen/Qwen3.5-27B --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\''),
    good("vllm serve Qwen/Qwen3-32B"),
)


def check(context: Context) -> Iterator[Hit]:
    """Speculation on a hybrid with the cache on; known wrong boundaries."""
    yield from defect_hits(context, "HYB05", "warning")
    if not context.vllm or not context.hybrid or not prefix_on(context):
        return
    if context.speculation is not None:
        yield Hit(
            message=msg("speculation shifts the place where recurrent states are saved"),
            why=msg("one state a chunk is kept, at the last aligned boundary; cached tokens can fall to zero"),
            fix=msg("For traffic that lives on prefix hits compare with speculation off."),
            flag="--speculative-config",
        )
