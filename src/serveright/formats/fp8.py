"""FP8 as DeepSeek, Qwen, GLM, MiniMax, MiMo and Mistral store it: per tile, per channel or per tensor; DeepSeek-V4's 4-bit experts beside it."""

from typing import cast

from serveright.errors import InputError
from serveright.formats import number
from serveright.formats.fields import Quant
from serveright.types.model import FormatRule, NumberFormat, Part
from serveright.types.text import msg

METHODS = frozenset({"fp8", "deepseek_v4_fp8", "fbgemm_fp8", "mxfp8", "fp8_per_tensor", "fp8_per_block", "fp8_per_channel"})

NEVER: tuple[Part, ...] = ("embed", "head", "router", "vision", "audio", "norm", "residual", "ngram")
"""Engines build these without a quantisation and checkpoints keep them at the model's dtype (vLLM 0.33.0: ParallelLMHead, gate and towers get no fp8 method)."""
UNQUANTISED = ("eh_proj", "weights_proj", "compressor")
"""Modules of prediction layers, indexers and V4's compressor that loaders build with quant_config=None (vLLM 0.33.0 deepseek_mtp.py, deepseek_v2.py, deepseek_v4/compressor.py)."""

TABLES = ("engram.embed",)
"""n-gram tables: FP8 rows with one UE8M0 scale per 32 (vLLM 0.33.0 deepseek_v41/common/engram.py)."""


def rules(quant: Quant) -> list[FormatRule]:
    """Lists of exceptions, then experts where they have a format of their own, then every linear."""
    found = [*quant.left_alone("ignored_layers", "modules_to_not_convert"), FormatRule(patterns=UNQUANTISED, format=None, within=True)]
    experts = _experts(quant)
    linear = _linear(quant, tiny_scales=experts is not None)
    if experts is not None:
        if experts.name == "nvfp4" and (kept := quant.names("ignore")):
            found.append(FormatRule(patterns=kept, format=number.MXFP4, target="experts"))
        found.append(FormatRule(patterns=(), format=experts, target="experts"))
    if any(key.startswith("engram_") for key in quant.text):
        found.append(FormatRule(patterns=TABLES, format=number.MXFP8, within=True))
    return [*found, FormatRule(patterns=(), format=linear, target="linear", skip_parts=NEVER)]


def _linear(quant: Quant, *, tiny_scales: bool) -> NumberFormat:
    if quant.method == "mxfp8":
        return number.MXFP8
    if quant.method in ("fbgemm_fp8", "fp8_per_channel"):
        return number.FP8_CHANNEL
    block: object = quant.raw.get("weight_block_size")
    if block is None:
        quant.note("quant_method", msg("FP8 weights, one scale per tensor"))
        return number.FP8_TENSOR
    sides = [side for side in cast("list[object]", block) if isinstance(side, int) and 0 < side <= 2**20] if isinstance(block, list) else []
    if len(sides) != 2:
        raise InputError(
            msg(
                "{file}: {path} is {value}, not two sizes", file=quant.file, path=quant.at("weight_block_size"), value=repr(quant.raw["weight_block_size"])[:80]
            )
        )
    quant.note("weight_block_size", msg("FP8 weights, one scale per {rows} x {columns} tile", rows=sides[0], columns=sides[1]))
    # UE8M0 scales take one byte where the experts are FP4 (V4, V4.1); V3.1 and V3.2 round to powers of two but store float32
    return number.fp8_block(sides[0], sides[1], scale_bits=8 if tiny_scales else 32)


def _experts(quant: Quant) -> NumberFormat | None:
    if quant.word("moe_quant_algo").upper() == "NVFP4":
        quant.note("moe_quant_algo", msg("routed experts in NVFP4"))
        return number.NVFP4
    if quant.word("store_dtype") == "mxfp4":
        quant.note("store_dtype", msg("routed experts in MXFP4"))
        return number.MXFP4
    word = quant.raw.get("expert_dtype", quant.model.get("expert_dtype"))
    if word == "fp4":
        quant.note("expert_dtype", msg("routed experts in MXFP4"))
        return number.MXFP4
    if word not in (None, "fp8"):
        quant.doubt("expert_dtype", msg("is {value}; only fp4 and fp8 experts are known", value=repr(word)[:80]))
    return None
