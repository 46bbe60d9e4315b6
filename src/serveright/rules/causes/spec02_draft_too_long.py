"""More tokens are drafted than the head can predict."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="SPEC02",
    title=msg("more tokens are drafted than the head can predict"),
    why=msg("later positions are hardly accepted"),
    fix=(msg("Draft one to three tokens."),),
    effect="slow",
    speaks={
        "symptom:acceptance_low": 2,
        "symptom:speculation": 1.2,
        "symptom:slow": 0.3,
        "metrics:acceptance_low": 3,
        "log:spec_divisible": 3,
    },
    against={
        "command:no_speculation": 3,
    },
)
