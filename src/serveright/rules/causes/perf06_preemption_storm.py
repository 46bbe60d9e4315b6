"""Requests are preempted and computed again."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF06",
    title=msg("requests are preempted and computed again"),
    why=msg("the running requests grow beyond the KV pool; each preemption repeats a whole prefill"),
    fix=(
        msg("Lower --max-num-seqs, or give the pool more room (FP8 KV, shorter max_model_len, more GPUs)."),
        msg("SGLang: --schedule-conservativeness 1.3."),
    ),
    effect="slow",
    speaks={
        "log:pool_full": 5.5,
        "log:preempting": 5,
        "metrics:preempting": 6,
        "symptom:preempting": 3,
        "symptom:slow": 0.4,
        "symptom:kv_fills": 0.4,
    },
    against={
        "metrics:no_preemption": 2.5,
    },
)
