"""This KV dtype is not for this model on this GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV04",
    title=msg("this KV dtype is not for this model on this GPU"),
    why=msg("store and decode kernels for it are missing, or wrong, on this pair"),
    fix=(msg("Use --kv-cache-dtype auto."),),
    effect="crash",
    speaks={
        "log:kv_dtype_backend": 4,
        "log:nvfp4_needs_blackwell": 4,
        "symptom:garbage": 1.2,
        "symptom:fp8_kv": 1.2,
        "log:scale_one": 0.3,
    },
    against={
        "command:kv_dtype_auto": 3,
    },
)
