"""AITER is off, or one of its kernels does not fit this AMD GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH09",
    title=msg("AITER is off, or one of its kernels does not fit this AMD GPU"),
    why=msg("Instinct without AITER runs slow fallbacks; FP4 batched products need newer chips"),
    fix=(msg("Set VLLM_ROCM_USE_AITER=1; on gfx942 also VLLM_ROCM_USE_AITER_FP4BMM=0."),),
    effect="slow",
    speaks={
        "log:aiter_build": 4,
        "log:mxfp4_gfx942": 6,
        "symptom:slow": 0.4,
    },
)
