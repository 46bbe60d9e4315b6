"""Intel AutoRound (inc): integers, MX floats or FP8 tiles; `extra_config` names modules with other widths, 16 bits meaning untouched."""

from typing import Any, cast

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"auto-round", "auto_round", "inc", "intel/auto-round"})
_SKIPPED: tuple[Part, ...] = ("embed", "head", "router", "vision", "audio", "norm", "ngram")


def rules(quant: Quant) -> list[FormatRule]:
    """Modules with a width of their own, then the blocks named for quantisation or every linear."""
    found: list[FormatRule] = []
    for name, change in quant.table("extra_config").items():
        named = quant.usable("extra_config", (name,))
        if named and isinstance(change, dict):
            found.append(FormatRule(patterns=named, format=_form({**quant.raw, **cast("dict[str, Any]", change)}), within=True))
    form = _form(quant.raw)
    quant.note("bits", msg("AutoRound: weights in {name}", name=form.name if form else "16 bits"))
    return [*found, FormatRule(patterns=(), format=form, target="linear", skip_parts=_SKIPPED)]


def _form(raw: dict[str, Any]) -> NumberFormat | None:
    bits, group, kind = raw.get("bits", 4), raw.get("group_size", 128), str(raw.get("data_type", "int"))
    if not isinstance(bits, int) or bits >= 16:
        return None
    if "mx_fp" in kind:
        return number.MXFP4 if bits == 4 else number.MXFP8
    if "nv_fp" in kind:
        return number.NVFP4
    if kind.startswith("fp"):
        return number.fp8_block(128, 128) if isinstance(group, list) else number.FP8_CHANNEL
    return number.integer(max(1, bits), group if isinstance(group, int) and group else -1, zero=True)
