"""A flag has a value this release does not accept."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER05",
    title=msg("a flag has a value this release does not accept"),
    why=msg("choices differ between releases and engines"),
    fix=(msg("Use one of the choices the message lists."),),
    effect="crash",
    speaks={
        "log:value_unreadable": 5.5,
        "log:invalid_choice": 4.5,
        "log:missing_value": 3,
    },
    against={
        "derived:flags_accepted": 3,
        "log:tool_parser_unknown": 4,
    },
)
