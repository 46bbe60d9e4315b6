"""The ranks hang in their first collective."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX03",
    title=msg("the ranks hang in their first collective"),
    why=msg("peer-to-peer between the cards does not work (IOMMU, ACS, topology)"),
    fix=(msg("NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce; then mend the IOMMU settings."),),
    effect="crash",
    speaks={
        "symptom:hang": 2.8,
        "symptom:peer_access": 1.8,
        "log:nccl_timeout": 4,
        "log:shm_broadcast": 1.5,
        "log:nccl_error": 2.5,
        "log:nccl_init": 0.5,
        "gpu:busy_idle": 3,
    },
    against={
        "symptom:one_long_prompt": 1.5,
        "symptom:beyond_cache": 3,
        "symptom:host_freezes": 2.5,
        "log:shm_small": 3,
        "log:ready": 1.5,
        "command:one_gpu": 3,
    },
    next_check=msg("GPUs at 100 % with low power draw are waiting, not computing (nvidia-smi)."),
)
