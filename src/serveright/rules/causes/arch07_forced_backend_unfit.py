"""The forced attention backend does not fit this model."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH07",
    title=msg("the forced attention backend does not fit this model"),
    why=msg("head size, sparsity or GPU of the model is outside what that backend accepts"),
    fix=(msg("Remove the backend flag or variable; left alone, the engine picks a valid one."),),
    effect="crash",
    speaks={
        "symptom:head_size": 2,
        "log:refused_backend": 3.5,
        "log:head_size_backend": 4,
        "log:backend_list": 5,
        "log:sparse_backend": 3.5,
        "log:no_backend": 1,
        "log:invalid_backend": 3,
        "symptom:forced_backend": 1,
    },
    against={
        "command:no_forced_backend": 1.5,
    },
)
