"""Prefix hits come in whole blocks, and on this model a block is long.

## What it catches
A hybrid model in vLLM: attention blocks are stretched to the recurrent state's page (hundreds to thousands of tokens); an error-like case where the length is below one block.

## Why it matters
A shared prefix shorter than one block never hits; with `max_model_len` below a block nothing ever does.

## Example
Nemotron-3-Super: block 8320 with `--max-model-len 4096`.

## Fix
Longer shared prefixes, a smaller state dtype, or a build with partial hits; test with more than two blocks.

## Versions
vLLM with prefix caching on hybrids.

## Sources
vLLM v1/core _align_hybrid_block_size; github.com/vllm-project/vllm/issues/48401, 53749, 45702
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import prefix_on
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "HYB02"
NAME = "coarse-prefix-block"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3.5-27B", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-32B", gpu="1xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The block the engine will choose against the length and the shared prefix."""
    if not context.vllm or not context.hybrid or not prefix_on(context):
        return
    sized = context.sized
    block = sized.resolved.block_tokens if sized is not None else None
    if block is None:
        yield Hit(
            message=msg("prefix hits come in whole blocks of hundreds to thousands of tokens on hybrid models"),
            why=msg("attention blocks are stretched to the recurrent state's page; a shorter shared prefix never hits"),
            fix=msg("Give the GPU to have the block computed."),
            confidence="likely",
        )
        return
    length = context.context_tokens
    shared = context.facts.traffic.shared_prefix_tokens if context.facts.traffic else 0
    never = (length is not None and length < block) or (0 < shared < block)
    if block < 128 and not never:
        return
    yield Hit(
        message=msg("no block can complete: {block} tokens a block, {length:n} at most", block=block, length=length or shared)
        if never
        else msg("prefix hits come in blocks of {block} tokens", block=block),
        why=msg("attention blocks are stretched to the recurrent state's page; only whole blocks are reused"),
        fix=msg("Shrink the state (--mamba-ssm-cache-dtype) or lengthen what is shared; test with more than two blocks."),
        flag="--max-model-len" if never and length is not None else None,
        severity="warning" if never else None,
    )
