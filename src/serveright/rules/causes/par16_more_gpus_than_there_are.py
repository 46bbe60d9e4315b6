"""The command asks for more GPUs than there are."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR16",
    title=msg("the command asks for more GPUs than there are"),
    why=msg("tp x pp x dp exceeds the visible devices"),
    fix=(msg("Lower the parallel sizes, or show the process all GPUs (CUDA_VISIBLE_DEVICES, container limits)."),),
    effect="crash",
    speaks={
        "log:refused_placement": 3,
        "log:placement": 4.5,
        "log:world_size": 6,
        "log:gpu_count": 5,
    },
)
