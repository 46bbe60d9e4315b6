"""The number of experts does not divide by the expert-parallel size."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR12",
    title=msg("the number of experts does not divide by the expert-parallel size"),
    why=msg("whole experts are dealt out evenly"),
    fix=(msg("Choose a GPU count that divides the experts; redundant experts need EPLB and do not cure undivided heads."),),
    effect="crash",
    speaks={
        "log:experts_divide": 4.5,
        "log:eplb_without_ep": 1,
    },
)
