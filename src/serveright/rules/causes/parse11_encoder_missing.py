"""The model's encoding is code, and this start does not select it."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PARSE11",
    title=msg("the model's encoding is code, and this start does not select it"),
    why=msg("such a checkpoint ships no template; every chat request fails"),
    fix=(msg("Select the model's --tokenizer-mode, on a release that has it."),),
    effect="wrong_output",
    speaks={
        "log:no_template": 2,
        "symptom:every_chat_fails": 1.2,
    },
)
