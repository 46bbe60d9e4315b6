"""Data-parallel ranks are unevenly loaded."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR10",
    title=msg("data-parallel ranks are unevenly loaded"),
    why=msg("ranks advance in lock step: the fullest one sets the pace and the idle ones compute nothing"),
    fix=(msg("Balance by tokens or requests per rank (router: --router-dp-aware; SGLang: --load-balance-method)."),),
    effect="slow",
    speaks={
        "symptom:ranks_uneven": 3,
        "metrics:ranks_uneven": 5,
    },
)
