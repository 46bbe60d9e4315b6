"""The disk is full."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX10",
    title=msg("the disk is full"),
    why=msg("weights or compile caches cannot be written"),
    fix=(msg("Free space, or move HF_HOME and the caches."),),
    effect="crash",
    speaks={
        "log:disk_full": 5,
        "symptom:disk_full": 3,
    },
    against={
        "log:shm_small": 4,
    },
)
