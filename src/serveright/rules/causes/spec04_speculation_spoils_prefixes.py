"""Speculation evicts shared prefixes."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="SPEC04",
    title=msg("speculation evicts shared prefixes"),
    why=msg("the double reservation of KV leaves less room for the cache of prefixes"),
    fix=(msg("Turn speculation off for multi-turn, prefill-heavy load."),),
    effect="slow",
    speaks={
        "symptom:speculation": 0.6,
        "symptom:prefix_not_hit": 0.8,
    },
    against={
        "command:no_speculation": 3,
        "command:recurrent": 1,
    },
    engine="sglang",
)
