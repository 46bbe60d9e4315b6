"""A request carries more images, videos or sounds than the server allows."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MM01",
    title=msg("a request carries more images, videos or sounds than the server allows"),
    why=msg("the number per prompt is fixed at the start"),
    fix=(msg("Start with a larger --limit-mm-per-prompt (SGLang: --limit-mm-data-per-request), or send fewer."),),
    effect="wrong_output",
    speaks={
        "symptom:too_many_items": 3.5,
        "log:mm_count": 6,
    },
)
