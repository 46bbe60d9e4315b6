"""A few experts take most tokens."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR09",
    title=msg("a few experts take most tokens"),
    why=msg("the slowest rank sets the step"),
    fix=(msg("Turn on expert load balancing."),),
    effect="slow",
    speaks={
        "symptom:experts_uneven": 3,
        "metrics:experts_uneven": 4,
    },
)
