"""Backends of a B200 recipe are forced on another GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH03",
    title=msg("backends of a B200 recipe are forced on another GPU"),
    why=msg("those kernels exist for sm_100 and sm_103 only"),
    fix=(msg("Remove the backend flags."),),
    effect="crash",
    speaks={
        "log:trtllm_arch": 4.5,
        "log:capability_backend": 1,
        "symptom:forced_backend": 0.3,
    },
    against={
        "command:no_forced_backend": 2.5,
    },
)
