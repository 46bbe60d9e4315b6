"""A JSON schema meets thinking."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE06",
    title=msg("a JSON schema meets thinking"),
    why=msg("the grammar covers the thinking, or the release mixes both up"),
    fix=(msg("Add the reasoning parser, or turn thinking off for schema calls."),),
    effect="wrong_output",
    speaks={
        "symptom:schema_thinking": 2.4,
        "probe:schema_broken": 2,
    },
)
