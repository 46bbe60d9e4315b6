"""Llama and what kept its layout: pre-norm, separate q, k, v, o, gated MLP; dense or Mixtral's experts."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build, headless
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

TRANSFORMERS = "transformers 5.24"
_PLAIN = {
    "LlamaForCausalLM": "LlamaConfig",
    "MistralForCausalLM": "MistralConfig",
    "Ministral3ForCausalLM": "Ministral3Config",
    "MixtralForCausalLM": "MixtralConfig",
    "GraniteForCausalLM": "GraniteConfig",
    "SeedOssForCausalLM": "SeedOssConfig",
    "SmolLM3ForCausalLM": "SmolLM3Config",
    "ArceeForCausalLM": "ArceeConfig",
    "HeliumForCausalLM": "HeliumConfig",
    "NemotronForCausalLM": "NemotronConfig",
}
_BARE = {"LlamaModel": "LlamaForCausalLM", "MistralModel": "MistralForCausalLM"}
"""Embedding models: no head, no `model.` in front of the paths."""
ARCHITECTURES = frozenset({*_PLAIN, *_BARE})
_MIXTRAL = FfnNames(block="block_sparse_moe", matrices=("w1", "w3", "w2"))


def style(fields: Fields, architecture: str) -> Style:
    """The layout of one of these classes."""
    text = text_of(fields)
    source = f"{TRANSFORMERS} {_PLAIN[architecture]}"
    base = Style(
        dialect="llama", defaults=Defaults(source=source, window_all=architecture in ("MistralForCausalLM", "MixtralForCausalLM", "Ministral3ForCausalLM"))
    )
    if architecture == "MixtralForCausalLM":
        return replace(base, names=_MIXTRAL, width_keys=("intermediate_size",))
    if architecture == "SeedOssForCausalLM":
        return replace(base, qkv_bias=text.flag("attention_bias", default=True), out_bias=text.flag("attention_out_bias"))
    if architecture == "SmolLM3ForCausalLM":
        base = replace(base, tied=True)
    if architecture in ("ArceeForCausalLM", "NemotronForCausalLM"):
        base = replace(base, gated=False)
    if architecture == "NemotronForCausalLM":
        base = replace(base, norm_bias=True, final_norm_bias=True)
    return biased(text, base)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    if name in _BARE:
        return headless(build(fields, files, replace(style(fields, _BARE[name]), root="")))
    return build(fields, files, style(fields, name))
