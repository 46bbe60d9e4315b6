"""The model cannot be found or fetched."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX08",
    title=msg("the model cannot be found or fetched"),
    why=msg("a misspelt name, a gated repository without a token, or no network"),
    fix=(msg("Check the name, accept the licence and set HF_TOKEN, or give a local directory."),),
    effect="crash",
    speaks={
        "symptom:model_fetch": 3,
        "log:gated": 6,
        "log:hub_offline": 5,
    },
)
