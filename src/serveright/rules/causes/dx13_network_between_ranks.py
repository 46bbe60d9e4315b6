"""The ranks cannot reach each other."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX13",
    title=msg("the ranks cannot reach each other"),
    why=msg("NCCL reports a system or remote error"),
    fix=(msg("Run with NCCL_DEBUG=INFO; check NCCL_SOCKET_IFNAME, firewalls and that all ranks are alive."),),
    effect="crash",
    speaks={
        "symptom:hang": 1,
        "log:placement": 0.8,
        "log:gloo": 5.5,
        "log:nccl_error": 3.5,
        "log:nccl_timeout": 2,
    },
    against={
        "log:shm_small": 3,
    },
)
