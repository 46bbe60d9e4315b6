"""Token budget and context contradict each other."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX15",
    title=msg("token budget and context contradict each other"),
    why=msg("without chunked prefill the budget must hold a whole prompt"),
    fix=(msg("Turn chunked prefill on, or raise --max-num-batched-tokens to max_model_len."),),
    effect="crash",
    speaks={
        "log:budget_below_length": 5,
    },
)
