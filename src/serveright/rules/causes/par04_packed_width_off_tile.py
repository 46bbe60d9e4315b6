"""The packed weights do not divide into the kernel's tiles."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR04",
    title=msg("the packed weights do not divide into the kernel's tiles"),
    why=msg("width / TP is no multiple of the group or the tile"),
    fix=(msg("Lower TP, use PP, or a checkpoint padded for it."),),
    effect="crash",
    speaks={
        "log:refused_split": 4.5,
        "log:packed_tile": 6,
    },
)
