"""Expert parallelism against the load."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR07",
    title=msg("expert parallelism against the load"),
    why=msg("at low concurrency on one node whole experts leave GPUs idle; at large batch sliced experts waste bandwidth"),
    fix=(msg("Measure both at the target concurrency."),),
    effect="slow",
    speaks={
        "symptom:ep_slower": 2,
        "symptom:low_concurrency": 1,
    },
)
