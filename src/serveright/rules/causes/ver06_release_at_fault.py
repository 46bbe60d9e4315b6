"""A fault of this release."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER06",
    title=msg("a fault of this release"),
    why=msg("the flags are right; the release is not"),
    fix=(msg("Move to a release without the fault."),),
    effect="crash",
    speaks={
        "log:fa3_blackwell": 3.5,
        "symptom:after_upgrade": 0.7,
        "derived:internal_error": 0.5,
        "log:gather_sizes": 2.5,
    },
)
