"""Server and parser disagree on whether the answer starts inside thinking."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE05",
    title=msg("server and parser disagree on whether the answer starts inside thinking"),
    why=msg("the parser decides from the request's template arguments, and the request says nothing"),
    fix=(msg("Set --default-chat-template-kwargs to the value the template itself uses."),),
    effect="wrong_output",
    speaks={
        "symptom:content_empty": 3.2,
        "symptom:thinking_leaks": 1.4,
        "probe:thinking_leaks": 1.5,
    },
    against={
        "command:no_reasoning_parser": 2.5,
    },
)
