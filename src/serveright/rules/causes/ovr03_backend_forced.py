"""A forced backend skips the engine's own adjustments."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="OVR03",
    title=msg("a forced backend skips the engine's own adjustments"),
    why=msg("block size, sinks and sparsity are fitted only when the engine chooses"),
    fix=(msg("Remove the override and compare with the engine's choice."),),
    effect="crash",
    speaks={
        "log:block_backend": 4,
        "symptom:forced_backend": 1.3,
    },
    against={
        "command:no_forced_backend": 3,
    },
)
