"""Kernels are compiled again at every start."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX04",
    title=msg("kernels are compiled again at every start"),
    why=msg("the JIT cache is not kept across containers, and start-up probes may end the pod first"),
    fix=(msg("Keep the cache directory on a volume, and raise the start-up probe's limit."),),
    effect="slow",
    speaks={
        "log:deepgemm_precompile": 4,
        "symptom:slow_start": 3,
        "log:deepgemm_warmup": 1,
        "log:terminated": 1.5,
        "symptom:restarts": 1.2,
    },
)
