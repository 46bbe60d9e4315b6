"""AMD Quark: a global weight specification, per-layer ones by wildcard, and a list of excluded modules."""

from typing import Any, cast

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"quark"})
_SKIPPED: tuple[Part, ...] = ("embed", "head", "router", "norm", "ngram")


def rules(quant: Quant) -> list[FormatRule]:
    """Excluded modules, then layers with a specification of their own, then the global one."""
    found = quant.left_alone("exclude", within=False)
    for name, layer in quant.table("layer_quant_config").items():
        form = _form(layer)
        if isinstance(layer, dict) and form is None and cast("dict[str, Any]", layer).get("weight") is not None:
            quant.doubt(f"layer_quant_config.{name}"[:80], msg("is a specification nobody here knows"))
        patterns = quant.usable("layer_quant_config", (name,)) if form is not None else ()
        if patterns:
            found.append(FormatRule(patterns=patterns, format=form, within=True))
    base = quant.table("global_quant_config")
    form = _form(base)
    if form is None:
        if base.get("weight") is not None:
            quant.doubt("global_quant_config", msg("is a specification nobody here knows"))
        return found
    quant.note("global_quant_config", msg("Quark: linears in {name}", name=form.name))
    return [*found, FormatRule(patterns=(), format=form, target="linear", skip_parts=_SKIPPED)]


def _form(layer: object) -> NumberFormat | None:
    spec = _first(cast("dict[str, Any]", layer).get("weight")) if isinstance(layer, dict) else None
    if spec is None:
        return None
    inputs = _first(cast("dict[str, Any]", layer).get("input_tensors"))
    dtype, scheme, group = str(spec.get("dtype")), str(spec.get("qscheme")), spec.get("group_size")
    size = group if isinstance(group, int) and 0 < group <= 2**20 else None
    active = 16 if inputs is None else 4 if "fp4" in str(inputs.get("dtype")) or "int4" in str(inputs.get("dtype")) else 8
    if dtype == "fp4":
        base = number.NVFP4 if size == 16 else number.MXFP4
        return NumberFormat(name=base.name, bits=4, group=base.group, scale_bits=8, global_scale_bits=base.global_scale_bits, activation_bits=active)
    if dtype.startswith("fp8"):
        if size == 32:
            return number.MXFP8
        if scheme == "per_channel":
            return number.FP8_CHANNEL
        return number.FP8_TENSOR if scheme == "per_tensor" else number.fp8_block(128, 128) if scheme == "per_block" else None
    if dtype in ("int8", "int4", "uint4"):
        bits = int(dtype[-1])
        return number.integer(bits, size or (0 if scheme == "per_tensor" else -1), zero=spec.get("symmetric") is False, activation_bits=active)
    return None


def _first(value: object) -> dict[str, Any] | None:
    if isinstance(value, list) and value:
        value = cast("list[object]", value)[0]
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
