"""Sparse latent attention has no kernels on this GPU."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH01",
    title=msg("sparse latent attention has no kernels on this GPU"),
    why=msg("no backend accepts the model on this compute capability; no flag repairs it"),
    fix=(msg("Use Hopper or data-centre Blackwell, a build that lists this capability, or a model without sparse attention."),),
    effect="crash",
    speaks={
        "log:sparse_selector": 4.5,
        "log:indexer_deepgemm": 3,
        "log:no_backend": 1,
        "symptom:this_gpu": 0.4,
    },
)
