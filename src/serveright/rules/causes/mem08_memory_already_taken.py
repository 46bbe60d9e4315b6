"""Another process holds part of the GPU's memory."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM08",
    title=msg("another process holds part of the GPU's memory"),
    why=msg("the share is one of the total, not of what is free; often a worker of the former run is still alive"),
    fix=(msg("End the stale process, or lower --gpu-memory-utilization below free / total."),),
    effect="crash",
    speaks={
        "symptom:oom_at_start": 0.8,
        "log:free_below_share": 7,
        "symptom:shared_card": 1.8,
        "gpu:taken": 3,
    },
    next_check=msg("nvidia-smi lists who holds the memory."),
)
