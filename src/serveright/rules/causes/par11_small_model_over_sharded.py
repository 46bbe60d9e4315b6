"""A small model is spread over too many GPUs."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR11",
    title=msg("a small model is spread over too many GPUs"),
    why=msg("communication costs more than the split saves"),
    fix=(msg("Use replicas or data parallelism."),),
    effect="slow",
    speaks={
        "symptom:tp_slower": 2,
        "symptom:slow": 0.4,
        "gpu:idle": 1.5,
    },
)
