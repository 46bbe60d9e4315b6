"""Decoders beside Llama's layout: StarCoder2, Phi 1.5 and 2, StableLM, InternLM3."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import LLAMA_NORMS, Style, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

_T = "transformers 5.24"
_PLAIN = Style(dialect="early", defaults=Defaults(source=""))
_STYLES = {
    "Starcoder2ForCausalLM": replace(
        _PLAIN,
        defaults=Defaults(source=f"{_T} Starcoder2Config", kv_heads=2, window_all=True),
        qkv_bias=True,
        out_bias=True,
        norm_bias=True,
        final_norm_bias=True,
        tied=True,
        gated=False,
        names=FfnNames(matrices=("", "c_fc", "c_proj"), dense_bias=True),
    ),
    "PhiForCausalLM": replace(
        _PLAIN,
        defaults=Defaults(source=f"{_T} PhiConfig"),
        qkv_bias=True,
        out_bias=True,
        out="dense",
        norm_bias=True,
        final_norm="final_layernorm",
        final_norm_bias=True,
        norms=LLAMA_NORMS[:1],
        gated=False,
        names=FfnNames(matrices=("", "fc1", "fc2"), dense_bias=True),
    ),
    "StableLmForCausalLM": replace(_PLAIN, defaults=Defaults(source=f"{_T} StableLmConfig"), norm_bias=True, final_norm_bias=True),
    "InternLM3ForCausalLM": replace(_PLAIN, defaults=Defaults(source=f"{_T} InternLM3Config")),
}
ARCHITECTURES = frozenset(_STYLES)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    style = _STYLES[name]
    if name == "StableLmForCausalLM":
        style = replace(style, qkv_bias=fields.flag("use_qkv_bias"))
    if name == "Starcoder2ForCausalLM" and not fields.flag("use_bias", default=True):
        style = replace(style, qkv_bias=False, out_bias=False, names=replace(style.names, dense_bias=False))
    return build(fields, files, style)
