"""The engine misreads the GPU's capability."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH13",
    title=msg("the engine misreads the GPU's capability"),
    why=msg("on a MIG slice or behind a wrong device list the query fails, and slower kernels are taken"),
    fix=(msg("Give CUDA_VISIBLE_DEVICES the MIG UUID, and upgrade the engine."),),
    effect="slow",
    speaks={
        "log:no_fp8_native": 2.5,
        "symptom:this_gpu": 0.3,
    },
)
