"""The KV connector turns the hybrid KV manager off."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="LMC03",
    title=msg("the KV connector turns the hybrid KV manager off"),
    why=msg("window layers are then charged in full, and hybrids may not start"),
    fix=(msg("Use a connector that supports hybrid models."),),
    effect="capacity",
    speaks={
        "log:groups_needed": 5.5,
        "log:groups_off_connector": 5,
        "symptom:lmcache": 0.4,
    },
    against={
        "command:no_connector": 2.5,
    },
)
