"""Greedy output depends on batch and cache."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="REP01",
    title=msg("greedy output depends on batch and cache"),
    why=msg("reduction order changes with batch and cache state, and near ties flip; nothing is corrupt"),
    fix=(msg("VLLM_BATCH_INVARIANT=1, or SGLang --enable-deterministic-inference; keep few sequences for audits."),),
    effect="wrong_output",
    speaks={
        "symptom:not_repeatable": 3.5,
        "probe:not_repeatable": 3,
    },
    against={
        "symptom:external_cache_misses": 3,
    },
)
