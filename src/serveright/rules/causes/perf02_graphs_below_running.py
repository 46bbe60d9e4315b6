"""More requests run than the largest captured graph holds."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF02",
    title=msg("more requests run than the largest captured graph holds"),
    why=msg("such steps fall back to eager decode, drain slowly, and the batch stays large"),
    fix=(msg("Make --cuda-graph-max-bs equal to --max-running-requests."),),
    effect="slow",
    speaks={
        "log:eager_decode": 4.5,
        "symptom:slow_after_burst": 2,
        "symptom:slow": 0.5,
    },
    engine="sglang",
)
