"""Tensor parallelism stores the same KV on every rank."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR05",
    title=msg("tensor parallelism stores the same KV on every rank"),
    why=msg("latent attention, or fewer KV heads than ranks, cannot be split by heads"),
    fix=(msg("Use data-parallel attention, or decode context parallelism."),),
    effect="capacity",
    speaks={
        "symptom:slow_decode": 0.2,
        "symptom:kv_fills": 0.9,
        "symptom:slow_prefill": 0.8,
        "symptom:half_the_users": 0.8,
        "metrics:waiting_capacity": 1.5,
        "metrics:kv_full": 1,
        "log:kv_full": 0.7,
    },
    audited=True,
)
