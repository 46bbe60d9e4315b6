"""The token budget is smaller than the block a hybrid model needs.

## What it catches
`max_num_batched_tokens`, given or default, below the unified block (or twice it) with prefix caching on.

## Why it matters
States are saved at block ends only: a hang before 0.16, an assertion in 0.17, one request at a time later.

## Example
Qwen3.5-122B GPTQ on a GPU class whose default budget is 2048, block 2096.

## Fix
Two to four times the block.

## Versions
vLLM with prefix caching on hybrids.

## Sources
github.com/vllm-project/vllm/issues/36734
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import prefix_on
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "HYB04"
NAME = "budget-below-block"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3.5-27B --max-num-batched-tokens 512", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3.5-27B --max-num-batched-tokens 8192", gpu="1xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Budget against block; where neither is known exactly, the default of the GPU class against the usual block."""
    if not context.vllm or not context.hybrid or not prefix_on(context):
        return
    sized = context.sized
    if sized is None:
        return
    block, budget = sized.resolved.block_tokens, sized.resolved.token_budget
    if budget >= 2 * block:
        return
    below = budget < block
    crash = below and context.between("0.16.0", "0.18.0")
    yield Hit(
        message=msg(
            "token budget {budget:n} {relation} of {block:n} tokens",
            budget=budget,
            relation=msg("is below the block") if below else msg("holds not even two blocks"),
            block=block,
        ),
        why=msg("this release asserts budget >= block") if crash else msg("states are saved at block ends only: requests run one by one or hang"),
        fix=msg("Set --max-num-batched-tokens to {budget:n} or more.", budget=4 * block),
        flag="--max-num-batched-tokens",
        edits=(Edit("--max-num-batched-tokens", str(4 * block), safe=False),),
        severity="error" if crash else None if below else "note",
        effect="crash" if crash else None,
    )
