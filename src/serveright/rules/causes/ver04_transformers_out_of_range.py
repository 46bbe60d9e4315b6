"""The installed transformers does not fit."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER04",
    title=msg("the installed transformers does not fit"),
    why=msg("the model type is missing there, or the release is above what the engine accepts"),
    fix=(msg("Use the engine's own image or a release whose range covers the model."),),
    effect="crash",
    speaks={
        "log:ignored_import": 1.6,
        "log:transformers_import": 5,
        "log:transformers_range": 6,
        "log:model_type_unknown": 3.5,
        "log:import_error": 0.7,
    },
)
