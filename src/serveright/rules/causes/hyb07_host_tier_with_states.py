"""A host cache tier restores KV without the recurrent state."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB07",
    title=msg("a host cache tier restores KV without the recurrent state"),
    why=msg("fluent but wrong answers on host hits"),
    fix=(msg("Turn the hierarchical cache off on hybrids."),),
    effect="wrong_output",
    speaks={
        "symptom:wrong_on_warm_cache": 1.8,
        "symptom:hybrid": 0.3,
    },
    against={
        "command:not_recurrent": 4,
    },
)
