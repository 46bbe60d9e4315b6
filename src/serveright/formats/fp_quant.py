"""FP-Quant: MXFP4 or NVFP4 after a Hadamard rotation; modules are excepted by the end of their names."""

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule
from serveright.types.text import msg

METHODS = frozenset({"fp_quant"})
_FORMATS = {"mxfp4": number.MXFP4, "nvfp4": number.NVFP4, "mxfp8": number.MXFP8}


def rules(quant: Quant) -> list[FormatRule]:
    """Exceptions, then every linear but the head."""
    word = quant.word("forward_dtype") or "mxfp4"
    form = _FORMATS.get(word)
    found = quant.left_alone("modules_to_not_convert")
    if form is None:
        quant.doubt("forward_dtype", msg("{name} is no number format known here", name=word))
        return found
    return [*found, FormatRule(patterns=(), format=form, target="linear", skip_parts=("embed", "head", "router", "vision", "audio", "norm", "ngram"))]
