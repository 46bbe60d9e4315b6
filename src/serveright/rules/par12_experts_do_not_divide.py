"""The experts do not divide by the expert-parallel size.

## What it catches
Expert parallelism over a number of GPUs that does not divide the experts, without redundant experts that would even it out.

## Why it matters
The engine refuses; its hint about redundant experts is moot where attention heads do not divide either.

## Example
256 experts over three GPUs.

## Fix
A power of two that divides experts and heads.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/52435
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR12"
NAME = "experts-do-not-divide"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 3 --enable-expert-parallel"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 4 --enable-expert-parallel"),
)


def check(context: Context) -> Iterator[Hit]:
    """Experts plus redundant ones against the group."""
    ep = context.layout.ep
    if ep < 2 or not context.moe:
        return
    experts = max(block.experts for block in context.moe)
    extra = context.json("--eplb-config").get("num_redundant_experts", 0) if context.vllm else (context.integer("--ep-num-redundant-experts") or 0)
    if (experts + int(extra)) % ep == 0:
        return
    yield Hit(
        message=msg("{experts} experts do not divide by {ep}", experts=experts + int(extra), ep=ep),
        why=msg("every GPU must hold equally many; uneven placement is refused or needs load balancing with redundant experts"),
        fix=msg("Use a group size that divides experts and heads."),
        flag="--tensor-parallel-size",
    )
