"""torchao: a configuration class for all linears, or one per module (`ModuleFqnToConfig`), with its fields in `_data`."""

import re
from typing import Any, cast

from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"torchao"})
_SKIPPED: tuple[Part, ...] = ("embed", "head", "router", "norm", "ngram")


def rules(quant: Quant) -> list[FormatRule]:
    """Skipped modules, then modules with a configuration of their own, then the default for every linear."""
    kind: object = quant.raw.get("quant_type")
    if isinstance(kind, dict):
        kind = cast("dict[str, Any]", kind).get("default", kind)
    found = quant.left_alone("modules_to_not_convert")
    name, data = _named(kind)
    if name in ("ModuleFqnToConfig", "FqnToConfig"):
        return [*found, *_by_module(quant, data)]
    return [*found, *_everywhere(quant, "quant_type", kind)]


def _named(kind: object) -> tuple[str, dict[str, Any]]:
    if isinstance(kind, str):
        return kind, {}
    if not isinstance(kind, dict):
        return "", {}
    entry = cast("dict[str, Any]", kind)
    data = entry.get("_data")
    return str(entry.get("_type", "")), cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _by_module(quant: Quant, data: dict[str, Any]) -> list[FormatRule]:
    modules: object = data.get("module_fqn_to_config", data.get("fqn_to_config"))
    if not isinstance(modules, dict):
        quant.doubt("quant_type", msg("names no modules"))
        return []
    found: list[FormatRule] = []
    default: object = None
    for name, kind in cast("dict[str, object]", modules).items():
        if name == "_default":
            default = kind
            continue
        form = _form(kind) if kind is not None else None
        if kind is not None and form is None:
            quant.doubt("quant_type", msg("{name} has a configuration nobody here knows", name=name[:80]))
            continue
        found += [
            FormatRule(patterns=patterns, format=form, within=not name.startswith("re:")) for patterns in [quant.usable("quant_type", (name,))] if patterns
        ]
    return found + (_everywhere(quant, "quant_type", default) if default is not None else [])


def _everywhere(quant: Quant, key: str, kind: object) -> list[FormatRule]:
    form = _form(kind)
    if form is None:
        quant.doubt(key, msg("{name} is no torchao configuration known here", name=_named(kind)[0][:80] or msg("nothing")))
        return []
    quant.note(key, msg("torchao: linears in {name}", name=form.name))
    return [FormatRule(patterns=(), format=form, target="linear", skip_parts=_SKIPPED)]


def _form(kind: object) -> NumberFormat | None:
    """By the words of the class name, e.g. `Int4WeightOnlyConfig` or `float8dq`; group size from its fields."""
    name, data = _named(kind)
    word = re.sub(r"[^a-z0-9]", "", name.lower())
    group = data.get("group_size", data.get("block_size"))
    size = group if isinstance(group, int) and 0 < group <= 2**20 else None
    active = 16 if "weightonly" in word or word.endswith("wo") else 8
    if "nvfp4" in word:
        return number.NVFP4
    if word.startswith("mx") or "mxfp" in word:
        return number.MXFP4 if "fp4" in word or "float4" in str(data.get("elem_dtype")) else number.MXFP8
    if "float8" in word:
        return NumberFormat(name="fp8", bits=8, group=-1, scale_bits=32, activation_bits=active)
    weight = re.search(r"int(\d)weight|int(\d)wo|int(\d)dq|uint(\d)", word)
    if weight is None:
        return None
    bits = int(next(digit for digit in weight.groups() if digit))
    return number.integer(bits, size or (128 if bits < 8 else -1), zero=bits < 8, activation_bits=active)
