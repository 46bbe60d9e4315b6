"""TP cuts the shared expert or the dense layers off the FP8 block grid."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR03",
    title=msg("TP cuts the shared expert or the dense layers off the FP8 block grid"),
    why=msg("expert parallelism does not help: these stay sharded"),
    fix=(msg("Lower TP and use DP or PP for the other GPUs."),),
    effect="crash",
    speaks={
        "log:fp8_grid_in": 3,
        "log:fp8_grid_out": 2.5,
        "log:shared_expert_grid": 4,
        "symptom:tp_rejected": 0.4,
    },
)
