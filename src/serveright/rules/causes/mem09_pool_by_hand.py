"""The pool size is set by hand."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM09",
    title=msg("the pool size is set by hand"),
    why=msg("the profile is ignored, so memory lies idle or runs out"),
    fix=(msg("Remove the override."),),
    effect="capacity",
    speaks={
        "symptom:kv_fills": 0.7,
        "symptom:half_the_users": 0.7,
        "symptom:oom": 0.4,
    },
    against={
        "command:no_pool_by_hand": 3,
    },
)
