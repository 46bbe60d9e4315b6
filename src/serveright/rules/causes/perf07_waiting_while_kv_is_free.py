"""Requests wait although the KV cache is free."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF07",
    title=msg("requests wait although the KV cache is free"),
    why=msg("something else binds: the sequence cap, the token budget, recurrent states, or the API server's CPU"),
    fix=(msg("Running equals the cap: raise --max-num-seqs. Otherwise look at the token budget, state usage and CPU."),),
    effect="slow",
    speaks={
        "metrics:waiting_kv_low": 5,
        "log:waiting_kv_low": 4,
        "symptom:kv_low": 1.2,
        "symptom:queueing": 0.8,
    },
    against={
        "metrics:kv_full": 3,
    },
)
