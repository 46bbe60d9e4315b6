"""Speculation is refused together with another setting."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="SPEC03",
    title=msg("speculation is refused together with another setting"),
    why=msg("the release validates the combination, or its runner lacks the method"),
    fix=(msg("Drop one of the two, or use another method (mtp, eagle)."),),
    effect="crash",
    speaks={
        "log:grammar_rejected": 2,
        "log:refused_speculation": 4.5,
        "log:refused_with_speculation": 6,
        "log:v2_runner": 5.5,
        "log:spec_unsupported": 4,
        "symptom:speculation": 0.6,
    },
    against={
        "command:no_speculation": 3,
    },
)
