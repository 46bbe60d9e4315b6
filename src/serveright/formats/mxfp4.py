"""MXFP4 as gpt-oss stores it: routed experts in 4 bits with one UE8M0 scale per 32, everything else at the model's dtype."""

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule
from serveright.types.text import msg

METHODS = frozenset({"mxfp4", "gpt_oss_mxfp4"})


def rules(quant: Quant) -> list[FormatRule]:
    """Experts only, as the loaders have it; the list of exceptions can still take some out."""
    quant.note("quant_method", msg("routed experts in MXFP4, the rest unquantised"))
    return [*quant.left_alone("modules_to_not_convert"), FormatRule(patterns=(), format=number.MXFP4, target="experts")]
