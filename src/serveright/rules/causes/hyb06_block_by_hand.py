"""A block size set by hand breaks the state layout."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB06",
    title=msg("a block size set by hand breaks the state layout"),
    why=msg("the engine aligns blocks to the recurrent state"),
    fix=(msg("Remove the block size flags."),),
    effect="wrong_output",
    speaks={
        "symptom:garbage": 0.4,
        "symptom:hybrid": 0.2,
    },
    against={
        "command:no_block_by_hand": 3,
    },
)
