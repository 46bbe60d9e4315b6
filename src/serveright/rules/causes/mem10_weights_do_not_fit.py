"""Weights leave no room for the cache."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM10",
    title=msg("weights leave no room for the cache"),
    why=msg("weights and activations take the whole share"),
    fix=(msg("Use more GPUs (TP), a smaller checkpoint (FP8, INT4), or a larger share."),),
    effect="crash",
    speaks={
        "symptom:oom_at_start": 2,
        "log:no_cache_blocks": 4,
        "log:cuda_oom": 2,
        "derived:weights_too_large": 3,
        "symptom:oom": 1,
        "symptom:does_not_start": 0.2,
    },
    against={
        "log:kv_tokens": 1.5,
        "log:kv_allocated": 1.5,
        "derived:started": 2.5,
    },
)
