"""The model's hyper-connection and latent kernels do not cover this GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH12",
    title=msg("the model's hyper-connection and latent kernels do not cover this GPU"),
    why=msg("they exist for sm_90 and sm_100, and in later builds for sm_12x; eager mode does not help"),
    fix=(msg("Use Hopper or data-centre Blackwell, or a build with the newer DeepGEMM."),),
    effect="crash",
    speaks={
        "log:hyper_connection": 4.5,
        "log:deepgemm_arch": 2.5,
        "symptom:this_gpu": 0.4,
    },
    against={
        "log:deepgemm_scales": 2,
    },
)
