"""Shared memory of the container is too small."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX06",
    title=msg("shared memory of the container is too small"),
    why=msg("ranks exchange data through /dev/shm, 64 MiB by default in Docker"),
    fix=(msg("docker run --ipc=host or --shm-size 16g; in Kubernetes an emptyDir with medium Memory."),),
    effect="crash",
    speaks={
        "symptom:shm": 2.8,
        "log:shm_small": 5,
    },
)
