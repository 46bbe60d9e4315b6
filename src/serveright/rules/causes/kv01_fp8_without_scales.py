"""FP8 KV cache without scales."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV01",
    title=msg("FP8 KV cache without scales"),
    why=msg("the checkpoint brings no k and v scales, so 1.0 is used: harmless on some models, ruinous on others"),
    fix=(msg("Use --kv-cache-dtype auto, or a checkpoint with calibrated scales; compare answers."),),
    effect="wrong_output",
    speaks={
        "log:scale_one": 3.5,
        "log:scales_hybrid": 6,
        "symptom:quality_drop": 1.5,
        "symptom:scales": 1.8,
        "symptom:garbage": 0.3,
        "symptom:fp8_kv": 0.4,
    },
    against={
        "command:kv_dtype_auto": 2.5,
    },
)
