"""FP8 KV loses accuracy with length."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV07",
    title=msg("FP8 KV loses accuracy with length"),
    why=msg("the kernel accumulates in low precision"),
    fix=(msg("Use --kv-cache-dtype auto, another attention backend, or a newer release."),),
    effect="wrong_output",
    speaks={
        "symptom:worse_with_length": 3,
        "symptom:garbage": 0.4,
        "symptom:fp8_kv": 1,
    },
    against={
        "command:kv_dtype_auto": 3,
    },
    next_check=msg("Ask the same needle at 1k and at 32k tokens with both precisions."),
)
