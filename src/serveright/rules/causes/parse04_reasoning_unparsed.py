"""A reasoning model runs without a reasoning parser."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE04",
    title=msg("a reasoning model runs without a reasoning parser"),
    why=msg("thinking stays in the content, and a JSON grammar binds from the first token so that the model cannot think"),
    fix=(msg("Add the family's --reasoning-parser."),),
    effect="wrong_output",
    speaks={
        "symptom:content_empty": 0.8,
        "symptom:thinking_leaks": 2,
        "symptom:schema_thinking": 1.8,
        "probe:thinking_leaks": 3,
        "log:harmony_error": 0.5,
    },
    against={
        "command:reasoning_parser": 2,
    },
    next_check=msg("Ask one question with thinking on and look for a closing tag in the content (--url BASE --probe)."),
)
