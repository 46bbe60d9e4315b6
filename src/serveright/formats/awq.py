"""AWQ: packed integers with a 16-bit scale and, unless symmetric, a packed zero point per group."""

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, Part
from serveright.types.text import msg

METHODS = frozenset({"awq", "auto_awq", "awq_marlin"})


def rules(quant: Quant) -> list[FormatRule]:
    """Exceptions, then every linear; the head only where the config says so."""
    bits = quant.bits("bits", "w_bit", default=4)
    group = quant.whole("group_size", "q_group_size", default=128) or -1
    quant.note("quant_method", msg("AWQ: {bits}-bit weights in groups of {group}", bits=bits, group=group))
    form = number.integer(bits, group, zero=quant.flag("zero_point", default=True))
    parts: tuple[Part, ...] = ("embed", "head", "router", "vision", "audio", "norm", "ngram")
    if quant.flag("lm_head"):
        parts = tuple(part for part in parts if part != "head")
    return [*quant.left_alone("modules_to_not_convert"), FormatRule(patterns=(), format=form, target="linear", skip_parts=parts)]
