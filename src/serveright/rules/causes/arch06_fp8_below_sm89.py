"""FP8 weights on a GPU without FP8."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH06",
    title=msg("FP8 weights on a GPU without FP8"),
    why=msg("the kernel cannot use e4m3 below sm_89, and this engine has no weight-only path"),
    fix=(msg("Use a recent vLLM (weight-only Marlin), or an INT4, INT8 or BF16 checkpoint."),),
    effect="crash",
    speaks={
        "log:fp8_not_in_triton": 2.5,
        "log:quant_capability": 1.5,
        "symptom:quantised": 0.5,
    },
    against={
        "symptom:fp8_kv": 0.8,
    },
)
