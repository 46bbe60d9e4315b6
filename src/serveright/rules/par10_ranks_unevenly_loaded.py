"""Data-parallel ranks are fed by turns instead of by load.

## What it catches
DP attention in SGLang with `round_robin` or no balancing said; a disaggregated server whose round robin follows random rooms.

## Why it matters
Ranks advance in lock step: the longest one sets the step and idle ones run dummy batches.

## Example
`--tp 16 --dp 16 --enable-dp-attention` with mixed prompt lengths.

## Fix
`--load-balance-method total_tokens` (or `total_requests`); a router in front must see ranks, not servers.

## Versions
SGLang; names of the method changed over releases.

## Sources
github.com/sgl-project/sglang/issues/7379, 16080
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR10"
NAME = "ranks-unevenly-loaded"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 16 --enable-dp-attention --load-balance-method round_robin"),
    good("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 16 --enable-dp-attention --load-balance-method total_tokens"),
)


def check(context: Context) -> Iterator[Hit]:
    """SGLang's balancing method."""
    yield from defect_hits(context, "PAR10", "warning")
    if context.vllm or context.dp_attention < 2:
        return
    method = context.value("--load-balance-method")
    if method not in (None, "round_robin", "auto"):
        return
    yield Hit(
        message=msg("{ranks} attention ranks are fed by turns", ranks=context.dp_attention),
        why=msg("ranks advance in lock step; uneven prompts leave the others idle. A router in front must balance ranks, not servers"),
        fix=msg("Try --load-balance-method total_tokens."),
        flag="--load-balance-method" if method else "--dp-size",
    )
