"""NVIDIA ModelOpt: one algorithm for all linears, or a map from module to algorithm (MIXED_PRECISION); wildcards name what is left alone. In config.json or hf_quant_config.json."""

from typing import Any, cast

from msgspec.structs import replace

from serveright.formats import number
from serveright.formats.compressed_tensors import number_format
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"modelopt", "modelopt_fp4", "modelopt_fp8", "modelopt_mxfp8", "modelopt_mixed", "nvfp4"})
_NEVER: tuple[Part, ...] = ("embed", "head", "router", "vision", "audio", "norm", "ngram", "residual")
_UNQUANTISED = ("eh_proj", "weights_proj")


def algorithm(name: str, group: object) -> NumberFormat | None:
    """The number format behind a `quant_algo`, None for one nobody here knows."""
    size = group if isinstance(group, int) and 0 < group <= 4096 else None
    forms = {
        "FP8": number.FP8_TENSOR,
        "FP8_PER_CHANNEL_PER_TOKEN": number.FP8_CHANNEL,
        "FP8_PB_WO": number.fp8_block(size or 128, size or 128),
        "FP8_BLOCK_SCALES": number.fp8_block(size or 128, size or 128),
        "NVFP4": number.NVFP4,
        "NVFP4_AWQ": number.NVFP4,
        "W4A16_NVFP4": number.NVFP4_WEIGHT_ONLY,
        "W4A8_NVFP4_FP8": replace(number.NVFP4, activation_bits=8),
        "MXFP8": number.MXFP8,
        "MXFP4": number.MXFP4,
        "W4A8_MXFP4_FP8": replace(number.MXFP4, activation_bits=8),
        "W4A16_AWQ": number.integer(4, size or 128, zero=False),
        "W4A8_AWQ": number.integer(4, size or 128, zero=False, activation_bits=8),
        "INT8_SQ": number.integer(8, -1, zero=False, activation_bits=8),
        "INT4": number.integer(4, size or 128, zero=False),
    }
    form = forms.get(name.upper())
    if form is not None and size and form.name in ("nvfp4", "mxfp4"):
        return replace(form, group=size)
    return form


def rules(quant: Quant) -> list[FormatRule]:
    """Exclusions, then the per-module map or the one algorithm."""
    inner = quant.table("quantization")
    here = (
        Quant(raw=inner, path=quant.at("quantization"), file=quant.file, model=quant.model, method=quant.method, unknown=quant.unknown, evidence=quant.evidence)
        if inner
        else quant
    )
    excluded = here.left_alone("ignore", "exclude_modules")
    name = here.word("quant_algo").upper()
    if name == "MIXED_PRECISION":
        here.note("quant_algo", msg("every module names its own algorithm"))
        return [*excluded, *_mixed(here)]
    form = algorithm(name, here.raw.get("group_size"))
    if form is None and not name:
        form = _from_groups(here)
    if form is None:
        here.doubt("quant_algo", msg("{name} is no algorithm known here", name=name or msg("nothing")))
        return excluded
    here.note("quant_algo", msg("weights in {name}", name=form.name))
    return [*excluded, FormatRule(patterns=_UNQUANTISED, format=None, within=True), FormatRule(patterns=(), format=form, target="linear", skip_parts=_NEVER)]


def _from_groups(quant: Quant) -> NumberFormat | None:
    groups = list(quant.table("config_groups").values())
    if len(groups) != 1 or not isinstance(groups[0], dict):
        return None
    group = cast("dict[str, Any]", groups[0])
    weights: object = group.get("weights")
    return number_format(cast("dict[str, Any]", weights), group.get("input_activations")) if isinstance(weights, dict) else None


def _mixed(quant: Quant) -> list[FormatRule]:
    by_format: dict[NumberFormat, list[str]] = {}
    strange: set[str] = set()
    for module, layer in quant.table("quantized_layers").items():
        entry = cast("dict[str, Any]", layer) if isinstance(layer, dict) else {}
        form = algorithm(str(entry.get("quant_algo", "")), entry.get("group_size", quant.raw.get("group_size")))
        if form is None:
            strange.add(str(entry.get("quant_algo"))[:40])
        else:
            by_format.setdefault(form, []).append(module)
    if strange:
        quant.doubt("quantized_layers", msg("algorithms nobody here knows: {names}", names=", ".join(sorted(strange))))
    if not by_format and not strange:
        quant.doubt("quantized_layers", msg("is empty, so which module has which format is unknown"))
    return [FormatRule(patterns=tuple(modules), format=form, within=True) for form, modules in by_format.items()]
