"""Right parser, faulty release."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE08",
    title=msg("right parser, faulty release"),
    why=msg("the parser of this release fails on some calls; changing flags cannot help"),
    fix=(
        msg("Upgrade the engine."),
        msg("Until then use the family's other parser where there is one."),
    ),
    effect="wrong_output",
    speaks={
        "symptom:parsed_sometimes": 1.6,
        "symptom:call_arguments_broken": 2.5,
        "log:tool_parser_error": 4.5,
        "symptom:tool_parser_throws": 2,
        "symptom:tools": 0.5,
        "symptom:tool_choice": 0.8,
        "symptom:after_upgrade": 0.3,
    },
    against={
        "command:no_tool_parser": 2,
    },
)
