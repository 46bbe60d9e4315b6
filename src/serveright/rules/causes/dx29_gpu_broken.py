"""The GPU, its link or its fabric service has failed."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX29",
    title=msg("the GPU, its link or its fabric service has failed"),
    why=msg("the driver reports a fault below the engine"),
    fix=(
        msg(
            "Look at dmesg and nvidia-smi -q for Xid and ECC errors, reset or drain the machine; on NVSwitch machines nvidia-fabricmanager of the driver's version must run."
        ),
    ),
    effect="crash",
    speaks={
        "log:gpu_broken": 6,
    },
)
