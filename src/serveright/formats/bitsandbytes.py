"""bitsandbytes: NF4/FP4 with one scale per block of 64 (itself quantised in double quantisation), or LLM.int8 with a float32 scale per row."""

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat
from serveright.types.text import msg

METHODS = frozenset({"bitsandbytes", "bnb"})


def rules(quant: Quant) -> list[FormatRule]:
    """Skipped modules, then every linear but the head."""
    four = quant.flag("load_in_4bit") or quant.flag("_load_in_4bit")
    kind = quant.word("bnb_4bit_quant_type") or "fp4"
    if four:
        nested = quant.flag("bnb_4bit_use_double_quant")
        form = NumberFormat(name=kind if kind in ("nf4", "fp4") else "fp4", bits=4, group=64, scale_bits=8 if nested else 32)
    else:
        form = number.integer(8, -1, zero=False, scale_bits=32)
    quant.note("load_in_4bit" if four else "load_in_8bit", msg("bitsandbytes: weights in {name}", name=form.name))
    rule = FormatRule(patterns=(), format=form, target="linear", skip_parts=("embed", "head", "router", "norm", "ngram"))
    return [*quant.left_alone("llm_int8_skip_modules"), rule]
