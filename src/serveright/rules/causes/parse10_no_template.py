"""The checkpoint has no chat template."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE10",
    title=msg("the checkpoint has no chat template"),
    why=msg("a base checkpoint starts, and every chat request fails"),
    fix=(msg("Serve the instruct checkpoint, use /v1/completions, or pass the author's template with --chat-template."),),
    effect="wrong_output",
    speaks={
        "log:no_template": 4,
        "symptom:every_chat_fails": 2,
        "symptom:no_chat_template": 3,
    },
    against={
        "command:chat_template": 3,
        "audit:PARSE11": 1.5,
    },
    next_check=msg("Look for chat_template in tokenizer_config.json or chat_template.jinja."),
)
