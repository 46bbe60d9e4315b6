"""The client changes the head of every prompt."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX01",
    title=msg("the client changes the head of every prompt"),
    why=msg("a counter, a random token or a moved system message near the start makes every prefix new; the engine is right"),
    fix=(msg("Compare two consecutive request bodies to the first differing byte; normalise it in the client or gateway."),),
    effect="slow",
    speaks={
        "symptom:prefix_alternates": 2.8,
        "symptom:prefix_not_hit": 0.8,
        "metrics:prefix_alternates": 3,
        "metrics:prefix_zero": 2.2,
    },
    against={
        "metrics:prefix_off": 3,
        "probe:prefix_not_cached": 2,
    },
    next_check=msg("Send the same long prompt twice with --probe: if that hits, the client is to blame."),
)
