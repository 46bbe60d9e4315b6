"""An abbreviated flag has become ambiguous."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER07",
    title=msg("an abbreviated flag has become ambiguous"),
    why=msg("a newer release has several flags with that beginning"),
    fix=(msg("Write the flag in full."),),
    effect="crash",
    speaks={
        "log:ambiguous_flag": 6.5,
    },
    against={
        "derived:flags_accepted": 3,
    },
)
