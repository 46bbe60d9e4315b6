"""Expert load balancing lacks a companion flag."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR15",
    title=msg("expert load balancing lacks a companion flag"),
    why=msg("EPLB works only with expert parallelism over several GPUs"),
    fix=(msg("Add --enable-expert-parallel."),),
    effect="crash",
    speaks={
        "log:eplb_without_ep": 6,
    },
)
