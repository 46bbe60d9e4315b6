"""One image or video is larger than the encoder budget."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MM02",
    title=msg("one image or video is larger than the encoder budget"),
    why=msg("its tokens must fit the encoder cache, which follows the token budget of a step"),
    fix=(msg("Raise --max-num-batched-tokens above the number in the message, or shrink items with --mm-processor-kwargs (max_pixels)."),),
    effect="crash",
    speaks={
        "symptom:item_too_large": 3.5,
        "log:mm_budget": 6,
    },
)
