"""The request names a model the server does not serve."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX23",
    title=msg("the request names a model the server does not serve"),
    why=msg("the name must equal --served-model-name, or the path as it was given where that is left out"),
    fix=(msg("Ask /v1/models for the name and use it, or set --served-model-name."),),
    effect="wrong_output",
    speaks={
        "log:model_name": 6,
        "symptom:model_name": 2.5,
    },
)
