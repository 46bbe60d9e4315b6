"""--mem-fraction-static leaves too little for the work itself."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM16",
    title=msg("--mem-fraction-static leaves too little for the work itself"),
    why=msg("memory runs out while serving: activations of a prefill no longer fit beside the pool"),
    fix=(msg("Lower --mem-fraction-static, or shrink --chunked-prefill-size."),),
    effect="crash",
    speaks={
        "symptom:oom_in_service": 2.2,
        "log:prefill_oom": 5,
        "log:decode_oom": 5,
        "log:cuda_oom": 1.2,
        "derived:started": 1.5,
        "log:scheduler_exception": 0.5,
        "symptom:crash_in_service": 0.8,
        "symptom:long_prompt_crash": 0.8,
        "symptom:oom": 0.4,
    },
    against={
        "log:init_no_memory": 4,
        "symptom:pd": 1.5,
    },
    needs=(
        "log:cuda_oom",
        "log:prefill_oom",
        "log:decode_oom",
        "symptom:oom_in_service",
    ),
    engine="sglang",
)
