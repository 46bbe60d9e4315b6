"""Only one state checkpoint is kept per chunk."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="HYB05",
    title=msg("only one state checkpoint is kept per chunk"),
    why=msg("the last aligned boundary lies in request-unique tokens, or speculation shifts it, and nothing is shared"),
    fix=(msg("Bring the token budget near one block, or turn speculation off."),),
    effect="slow",
    speaks={
        "symptom:prefix_not_hit": 1.2,
        "symptom:speculation": 1,
        "metrics:prefix_zero": 1.4,
    },
    against={
        "command:not_recurrent": 4,
    },
)
