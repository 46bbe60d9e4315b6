"""This release does not know a flag of the command."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER01",
    title=msg("this release does not know a flag of the command"),
    why=msg("the flag was removed, renamed, or belongs to the other engine"),
    fix=(msg("Delete or translate it."),),
    effect="crash",
    speaks={
        "log:unknown_flag": 6.5,
        "log:v0_fallback": 4,
        "symptom:flag_unknown": 1.8,
        "symptom:after_upgrade": 0.4,
    },
    against={
        "derived:flags_accepted": 3,
    },
)
