"""No tool parser is configured."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE01",
    title=msg("no tool parser is configured"),
    why=msg("without a parser the engine refuses tool_choice auto, or hands calls back as text"),
    fix=(msg("Start with the family's tool parser (vLLM also wants --enable-auto-tool-choice); `check` names it."),),
    effect="wrong_output",
    speaks={
        "log:tool_parser_missing": 5,
        "symptom:tools_ignored": 1.5,
        "symptom:tool_400": 1.5,
        "symptom:tools": 0.7,
        "symptom:tool_choice": 1,
        "log:harmony_error": 1.2,
        "probe:tools_unparsed": 2,
    },
    against={
        "command:tool_parser": 3,
    },
    next_check=msg("Send one request with a tool and look for tool_calls in the answer (--url BASE --probe)."),
)
