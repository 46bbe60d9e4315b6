"""The chat template refuses this order of messages."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE12",
    title=msg("the chat template refuses this order of messages"),
    why=msg("templates may demand alternating roles, one system message, or none"),
    fix=(msg("Merge neighbouring messages of one role, move system text into the first user message, or pass a template that allows it."),),
    effect="wrong_output",
    speaks={
        "log:template_roles": 6,
    },
)
