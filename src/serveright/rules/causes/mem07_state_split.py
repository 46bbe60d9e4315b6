"""Recurrent states, not KV, limit the running requests."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM07",
    title=msg("recurrent states, not KV, limit the running requests"),
    why=msg("memory is split statically between states and KV, and each request takes several state slots"),
    fix=(msg("Shrink the state (--mamba-ssm-dtype bfloat16), raise --max-mamba-cache-size or --mamba-full-memory-ratio, or lower --context-length."),),
    effect="capacity",
    speaks={
        "log:running_cut": 5,
        "symptom:half_the_users": 1.5,
        "symptom:hybrid": 0.8,
        "symptom:kv_low": 1,
        "symptom:queueing": 0.6,
        "metrics:state_pool_full": 5,
    },
    against={
        "command:not_recurrent": 4,
    },
    engine="sglang",
)
