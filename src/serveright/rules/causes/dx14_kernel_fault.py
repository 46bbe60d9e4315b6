"""A kernel reads or writes outside its memory."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX14",
    title=msg("a kernel reads or writes outside its memory"),
    why=msg("a fault of the release on this GPU, model and settings; flags only move it"),
    fix=(msg("Set CUDA_LAUNCH_BLOCKING=1 to find the kernel; try without speculation, then without graphs; upgrade."),),
    effect="crash",
    speaks={
        "symptom:kernel_fault": 2.5,
        "log:illegal_access": 4.5,
        "symptom:garbage": 0.3,
    },
)
