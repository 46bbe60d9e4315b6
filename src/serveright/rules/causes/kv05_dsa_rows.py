"""Sparse latent attention sets its own KV precision by GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV05",
    title=msg("sparse latent attention sets its own KV precision by GPU"),
    why=msg("the same command stores bf16 on one GPU and fp8 on another"),
    fix=(msg("Set --kv-cache-dtype explicitly when comparing."),),
    effect="capacity",
    speaks={
        "log:dsa_kv": 2,
        "symptom:capacity_differs": 3.5,
        "symptom:kv_fills": 0.2,
    },
    against={
        "command:not_dsa": 3,
    },
)
