"""The CPU build has no kernel for this shape or dtype."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX17",
    title=msg("the CPU build has no kernel for this shape or dtype"),
    why=msg("CPU kernels cover few head sizes and bf16 for recurrent layers"),
    fix=(msg("Use --dtype bfloat16, or a GPU build."),),
    effect="crash",
    speaks={
        "log:cpu_gdn": 6,
    },
)
