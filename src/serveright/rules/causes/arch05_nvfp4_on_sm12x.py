"""NVFP4 kernels of this release are wrong on this GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH05",
    title=msg("NVFP4 kernels of this release are wrong on this GPU"),
    why=msg("an sm_100 kernel is dispatched on sm_12x: illegal instruction, or invalid output"),
    fix=(msg("Upgrade, or force Marlin for the FP4 weights; then check the answers."),),
    effect="crash",
    speaks={
        "log:illegal_instruction": 4.5,
        "symptom:garbage": 0.4,
    },
)
