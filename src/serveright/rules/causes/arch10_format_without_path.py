"""This number format has no path on this GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH10",
    title=msg("this number format has no path on this GPU"),
    why=msg("the quantisation method asks for a higher compute capability"),
    fix=(msg("Choose a checkpoint in a format this GPU has, or another GPU."),),
    effect="crash",
    speaks={
        "log:gpu_too_old": 5,
        "log:refused_hardware": 4,
        "log:quant_capability": 4.5,
        "log:moe_backend_unfit": 4.5,
        "log:bf16_capability": 5,
        "log:nvfp4_needs_blackwell": 2,
        "symptom:this_gpu": 0.4,
    },
)
