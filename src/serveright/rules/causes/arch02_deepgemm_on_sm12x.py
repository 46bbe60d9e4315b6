"""DeepGEMM is used on a GPU it does not cover."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH02",
    title=msg("DeepGEMM is used on a GPU it does not cover"),
    why=msg("the DeepGEMM of this release has no sm_12x path"),
    fix=(msg("Set VLLM_USE_DEEP_GEMM=0, or move to a later release."),),
    effect="crash",
    speaks={
        "log:deepgemm_scales": 4.5,
        "log:deepgemm_arch": 2,
        "symptom:this_gpu": 0.3,
    },
    against={
        "log:hyper_connection": 2,
    },
)
