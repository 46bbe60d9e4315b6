"""TP cuts the experts off the FP8 block grid."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR02",
    title=msg("TP cuts the experts off the FP8 block grid"),
    why=msg("expert width / TP is no multiple of the quantisation block"),
    fix=(msg("Keep experts whole with expert parallelism, or lower TP."),),
    effect="crash",
    speaks={
        "log:fp8_grid_out": 4,
        "log:fp8_grid_in": 2.5,
        "symptom:tp_rejected": 0.4,
    },
    against={
        "log:shared_expert_grid": 2.5,
        "command:expert_parallel": 1.5,
    },
)
