"""GPTQ (GPTQModel, AutoGPTQ): packed integers with scale and zero point per group; `dynamic` regular expressions override or skip modules."""

from typing import Any, cast

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"gptq", "auto_gptq", "gptq_marlin", "moe_wna16"})


def rules(quant: Quant) -> list[FormatRule]:
    """Dynamic overrides in order, then the listed modules or every linear."""
    bits, group = quant.bits("bits", default=4), quant.whole("group_size", default=128) or -1
    quant.note("bits", msg("GPTQ: {bits}-bit weights in groups of {group}", bits=bits, group=group))
    form = number.integer(bits, group, zero=True)  # zero points are stored even where they are all the same
    parts: tuple[Part, ...] = ("embed", "head", "router", "vision", "audio", "norm", "ngram")
    if quant.flag("lm_head"):
        parts = tuple(part for part in parts if part != "head")
    found = [*_dynamic(quant, form), *quant.left_alone("modules_to_not_convert")]
    listed = quant.usable("modules_in_block_to_quantize", tuple(_flat(quant.raw.get("modules_in_block_to_quantize"))))
    if listed:
        return [*found, FormatRule(patterns=listed, format=form, within=True)]
    return [*found, FormatRule(patterns=(), format=form, target="linear", skip_parts=parts)]


def _dynamic(quant: Quant, base: NumberFormat) -> list[FormatRule]:
    found: list[FormatRule] = []
    for pattern, change in quant.table("dynamic").items():
        regex = quant.usable("dynamic", (f"re:{pattern.removeprefix('-:').removeprefix('+:')}",))
        if not regex:
            continue
        if pattern.startswith("-:"):
            found.append(FormatRule(patterns=regex, format=None))
        elif isinstance(change, dict):
            found.append(FormatRule(patterns=regex, format=_changed(base, cast("dict[str, Any]", change))))
        else:
            quant.doubt("dynamic", msg("{pattern} has no overrides", pattern=pattern[:80]))
    return found


def _changed(base: NumberFormat, change: dict[str, Any]) -> NumberFormat:
    bits, group = change.get("bits", base.bits), change.get("group_size", base.group)
    return number.integer(bits if isinstance(bits, int) and 1 <= bits <= 16 else int(base.bits), group if isinstance(group, int) else base.group, zero=True)


def _flat(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [name for item in cast("list[object]", value) for name in _flat(item)]
    return []
