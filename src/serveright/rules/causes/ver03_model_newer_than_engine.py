"""The engine release does not know this architecture."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="VER03",
    title=msg("the engine release does not know this architecture"),
    why=msg("the model is newer; upgrading transformers alone does not help"),
    fix=(msg("Upgrade the engine to the first release that lists the architecture."),),
    effect="crash",
    speaks={
        "log:arch_unsupported": 6,
        "log:model_type_unknown": 3,
        "symptom:model_unsupported": 1.5,
    },
    against={
        "log:inspection_failed": 4,
        "log:import_error": 3,
    },
)
