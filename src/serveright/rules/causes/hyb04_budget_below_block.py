"""The token budget is below the unified block."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB04",
    title=msg("the token budget is below the unified block"),
    why=msg("a hybrid with prefix caching schedules whole blocks"),
    fix=(msg("Set --max-num-batched-tokens to at least two blocks."),),
    effect="crash",
    speaks={
        "log:budget_below_block": 7,
        "symptom:hybrid": 0.4,
    },
)
