"""compressed-tensors (llm-compressor): groups of targets with weight arguments, and a list of ignored modules, exact names or `re:` expressions."""

from typing import Any, cast

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"compressed-tensors", "compressed_tensors"})
_CLASSES = ("Linear", "MoE", "Experts", "FusedMoE")
_SKIPPED: tuple[Part, ...] = ("embed", "head", "router", "norm", "ngram")
"""A class name as target reaches linears; the head's class is none (it must be named), routers are ignored by every recipe and built unquantised."""


def rules(quant: Quant) -> list[FormatRule]:
    """Ignored modules first, then the groups in order."""
    found = quant.left_alone("ignore", within=False)
    for name, group in quant.table("config_groups").items():
        if not isinstance(group, dict):
            quant.doubt(f"config_groups.{name}", msg("is no object"))
            continue
        found += _group(quant, name, cast("dict[str, Any]", group))
    return found


def _group(quant: Quant, name: str, group: dict[str, Any]) -> list[FormatRule]:
    key = f"config_groups.{name}"
    targets = [target for target in _list(group.get("targets", ["Linear"])) if isinstance(target, str)]
    if targets and all(target.endswith("Attention") for target in targets):
        return []  # quantised attention means a quantised KV cache, no weights
    weights = group.get("weights")
    if not isinstance(weights, dict):
        quant.doubt(f"{key}.weights", msg("is missing, so the format of its modules is unknown"))
        return []
    packing = group.get("format") or quant.raw.get("format")
    form = number_format(cast("dict[str, Any]", weights), group.get("input_activations"), str(packing or ""))
    if form is None:
        quant.doubt(f"{key}.weights", msg("describes a number format nobody here knows"))
        return []
    named = quant.usable(f"{key}.targets", tuple(target for target in targets if target not in _CLASSES))
    found = [FormatRule(patterns=named, format=form, within=False)] if named else []
    if any(target in _CLASSES for target in targets):
        found.append(FormatRule(patterns=(), format=form, target="linear", skip_parts=(*_SKIPPED, "vision", "audio") if quant.nested else _SKIPPED))
    return found


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def number_format(weights: dict[str, Any], activations: object, packing: str = "") -> NumberFormat | None:
    """The stored format of one group's `weights` arguments; None where type, bits and strategy make no known one."""
    bits, kind, group = weights.get("num_bits"), weights.get("type", "int"), weights.get("group_size")
    strategy = weights.get("strategy") or ("group" if isinstance(group, int) and group > 0 else "tensor")
    if not isinstance(strategy, str):
        return None
    active = _activation_bits(activations)
    size = group if isinstance(group, int) and 0 < group <= 2**20 else None
    if kind == "float" and bits == 4:
        mx = "mxfp4" in packing or (size == 32 and "uint8" in str(weights.get("scale_dtype")))
        base = number.MXFP4 if mx else number.NVFP4 if active == 4 else number.NVFP4_WEIGHT_ONLY
        return _with(base, size or base.group, active)
    if kind == "float" and bits == 8:
        return _float8(strategy, weights.get("block_structure"), size, active, mx="mxfp8" in packing or "uint8" in str(weights.get("scale_dtype")))
    if kind == "int" and isinstance(bits, int) and 2 <= bits <= 8:
        groups = {"channel": -1, "tensor": 0, "token": -1}.get(strategy, size or -1)
        return number.integer(bits, groups, zero=weights.get("symmetric") is False, activation_bits=active)
    return None


def _activation_bits(activations: object) -> int:
    bits: object = cast("dict[str, Any]", activations).get("num_bits") if isinstance(activations, dict) else None
    return bits if isinstance(bits, int) and 2 <= bits <= 16 else 16


def _float8(strategy: str, block: object, size: int | None, active: int, *, mx: bool) -> NumberFormat | None:
    if mx or (strategy == "group" and size == 32):
        return _with(number.MXFP8, size or 32, active)
    if strategy == "block":
        sides = [side for side in _list(block) if isinstance(side, int) and side > 0]
        rows, columns = sides if len(sides) == 2 else (128, 128)
        return number.fp8_block(rows, columns)
    if strategy in ("channel", "token"):
        return NumberFormat(name="fp8", bits=8, group=-1, scale_bits=16, activation_bits=active)
    if strategy == "group" and size:
        return NumberFormat(name="fp8", bits=8, group=size, scale_bits=16, activation_bits=active)
    return NumberFormat(name="fp8", bits=8, global_scale_bits=32, activation_bits=active) if strategy == "tensor" else None


def _with(base: NumberFormat, group: int, active: int) -> NumberFormat:
    return NumberFormat(
        name=base.name, bits=base.bits, group=group, scale_bits=base.scale_bits, global_scale_bits=base.global_scale_bits, activation_bits=active
    )
