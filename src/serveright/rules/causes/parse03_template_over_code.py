"""A chat template is forced on a model whose encoding is code."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE03",
    title=msg("a chat template is forced on a model whose encoding is code"),
    why=msg("template and built-in encoder disagree, so calls come out malformed"),
    fix=(msg("Drop --chat-template and select the model's tokenizer mode."),),
    effect="wrong_output",
    speaks={
        "symptom:tools_ignored": 0.5,
        "symptom:tools": 0.3,
    },
    against={
        "command:no_chat_template": 3,
    },
)
