"""The shared prefix is shorter than the unified block."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB02",
    title=msg("the shared prefix is shorter than the unified block"),
    why=msg("hybrids store prefixes in blocks of hundreds to thousands of tokens, and only whole blocks are hit"),
    fix=(msg("Make the shared prefix longer than one block, keep max_model_len above it, or shrink the state dtype."),),
    effect="slow",
    speaks={
        "symptom:prefix_not_hit": 1.5,
        "log:attention_block": 1.5,
        "metrics:prefix_zero": 2,
        "symptom:hybrid": 0.5,
        "probe:prefix_not_cached": 1.5,
        "symptom:coarse_hits": 2,
    },
    against={
        "command:not_recurrent": 4,
    },
)
