"""Memory runs out while serving: something outgrows the start-up profile."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM17",
    title=msg("memory runs out while serving: something outgrows the start-up profile"),
    why=msg("images, long prompts without chunking, log probabilities or another process take what the profile did not see"),
    fix=(msg("Lower --gpu-memory-utilization by 0.02 to 0.05, the token budget, or the images per prompt."),),
    effect="crash",
    speaks={
        "symptom:oom_in_service": 2.2,
        "log:cuda_oom": 1.2,
        "symptom:crash_in_service": 0.8,
        "derived:started": 2,
    },
    against={
        "log:capturing": 1,
    },
    needs=("log:cuda_oom", "symptom:oom_in_service"),
    engine="vllm",
)
