"""FP8 e4m3 KV cache on a GPU below sm_89."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV02",
    title=msg("FP8 e4m3 KV cache on a GPU below sm_89"),
    why=msg("the Triton path cannot convert e4m3 there"),
    fix=(msg("Use --kv-cache-dtype auto or fp8_e5m2, or the FlashInfer backend."),),
    effect="crash",
    speaks={
        "log:fp8_kv_triton": 4,
        "log:fp8_not_in_triton": 2.5,
        "symptom:fp8_kv": 1.2,
    },
    against={
        "command:kv_dtype_auto": 3,
    },
)
