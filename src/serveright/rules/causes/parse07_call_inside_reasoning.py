"""The call is swallowed by the reasoning channel."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE07",
    title=msg("the call is swallowed by the reasoning channel"),
    why=msg("the model calls before it closes its thinking, and the reasoning parser takes everything up to there"),
    fix=(msg("Upgrade the engine or front end, or turn thinking off for tool traffic."),),
    effect="wrong_output",
    speaks={
        "symptom:tools_ignored": 1,
        "symptom:tools": 0.4,
        "probe:call_in_reasoning": 4,
        "symptom:calls_vanish": 2,
    },
    against={
        "command:no_reasoning_parser": 1.5,
    },
)
