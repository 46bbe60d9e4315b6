"""The quantisation named is not the checkpoint's."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX16",
    title=msg("the quantisation named is not the checkpoint's"),
    why=msg("the checkpoint's config says another method"),
    fix=(msg("Remove --quantization."),),
    effect="crash",
    speaks={
        "log:refused_quantisation": 4,
        "log:quant_mismatch": 5.5,
        "log:unknown_quant": 4,
    },
)
