"""The token budget does not suit the GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF04",
    title=msg("the token budget does not suit the GPU"),
    why=msg("a small budget starves prefill of a large GPU; a large one stalls streaming on a slow GPU"),
    fix=(msg("Large GPUs: --max-num-batched-tokens 8192 or more; slow ones 1024 to 2048."),),
    effect="slow",
    speaks={
        "symptom:slow_decode": 0.3,
        "symptom:slow_prefill": 1.6,
        "symptom:slow": 0.4,
        "metrics:waiting_kv_low": 0.8,
    },
)
