"""This release has no parser of that name."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE09",
    title=msg("this release has no parser of that name"),
    why=msg("the documentation of a newer release was followed"),
    fix=(msg("Upgrade to the first release that has it, or use a registered name."),),
    effect="crash",
    speaks={
        "log:tool_parser_unknown": 6,
    },
)
