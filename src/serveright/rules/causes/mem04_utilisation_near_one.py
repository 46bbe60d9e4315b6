"""The memory share is too near 1: CUDA graphs do not fit beside it."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM04",
    title=msg("the memory share is too near 1: CUDA graphs do not fit beside it"),
    why=msg("graphs are captured after the KV cache took its share, and their estimate is not exact"),
    fix=(
        msg("Lower --gpu-memory-utilization to 0.90-0.95, or capture fewer sizes."),
        msg("SGLang: leave --mem-fraction-static out or lower it, or set --cuda-graph-max-bs."),
    ),
    effect="crash",
    speaks={
        "symptom:oom_at_start": 1,
        "log:capturing": 1.5,
        "log:cuda_oom": 1.2,
        "log:graph_estimate_off": 3,
        "log:sampler_oom": 4.5,
        "log:capture_oom": 4,
        "symptom:oom_in_capture": 2.5,
        "symptom:oom": 0.5,
    },
    against={
        "derived:started": 2,
    },
)
