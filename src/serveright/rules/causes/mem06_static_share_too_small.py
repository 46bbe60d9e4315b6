"""--mem-fraction-static is too small for weights and cache."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM06",
    title=msg("--mem-fraction-static is too small for weights and cache"),
    why=msg("it covers both; the usual advice for an OOM, to lower it, makes a failing start worse"),
    fix=(msg("Raise --mem-fraction-static, or use more GPUs."),),
    effect="crash",
    speaks={
        "log:init_no_memory": 6,
        "symptom:init_memory_advice": 1.5,
        "symptom:oom": 0.4,
    },
    against={
        "log:ready": 2,
    },
    engine="sglang",
)
