"""One long prefill starves everybody else."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF08",
    title=msg("one long prefill starves everybody else"),
    why=msg("the whole token budget goes to one prompt"),
    fix=(msg("Set --long-prefill-token-threshold to about half the budget."),),
    effect="slow",
    speaks={
        "symptom:slow_prefill": 0.8,
        "probe:stream_gaps": 2,
        "symptom:one_long_prompt": 3.2,
    },
    against={
        "symptom:kv_fills": 2.5,
        "metrics:kv_full": 2,
    },
    next_check=msg("Stream one answer while a long prompt arrives: do the gaps grow?"),
    engine="vllm",
)
