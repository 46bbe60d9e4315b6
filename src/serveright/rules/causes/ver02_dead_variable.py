"""An environment variable has lost its effect."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER02",
    title=msg("an environment variable has lost its effect"),
    why=msg("the setting moved to a flag; the variable is ignored with one warning at most"),
    fix=(msg("Use the flag."),),
    effect="dead_flag",
    speaks={
        "log:unknown_env": 4.5,
        "symptom:env_ignored": 2.5,
        "symptom:after_upgrade": 0.3,
    },
)
