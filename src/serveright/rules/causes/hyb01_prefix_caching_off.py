"""Prefix caching is off on this hybrid model."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB01",
    title=msg("prefix caching is off on this hybrid model"),
    why=msg("some releases leave it off for hybrids and say nothing"),
    fix=(msg("Add --enable-prefix-caching."),),
    effect="slow",
    speaks={
        "log:hybrid_no_prefix": 4.5,
        "metrics:prefix_off": 5,
        "symptom:prefix_not_hit": 1.2,
        "symptom:prefix_disabled": 2,
    },
    against={
        "metrics:prefix_on": 5,
        "command:not_recurrent": 4,
    },
)
