"""Tensor parallelism does not divide the attention heads."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR01",
    title=msg("tensor parallelism does not divide the attention heads"),
    why=msg("every rank needs the same number of heads"),
    fix=(msg("Choose a TP size that divides the heads; use replicas, DP or PP for the other GPUs."),),
    effect="crash",
    speaks={
        "log:heads_divide": 6,
        "log:experts_divide": 2,
        "symptom:tp_rejected": 0.7,
    },
)
