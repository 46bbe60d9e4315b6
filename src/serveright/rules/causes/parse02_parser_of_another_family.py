"""The parser belongs to another model family."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE02",
    title=msg("the parser belongs to another model family"),
    why=msg("the model writes calls or reasoning in a syntax the parser does not know; both stay in the text"),
    fix=(msg("Use the parser that fits the chat template."),),
    effect="wrong_output",
    speaks={
        "symptom:tools_ignored": 1.3,
        "symptom:tools": 0.6,
        "probe:tools_unparsed": 2,
        "symptom:thinking_leaks": 0.4,
    },
    against={
        "command:no_tool_parser": 2,
    },
    next_check=msg("Read the raw answer of one tool request: which tags surround the call?"),
)
