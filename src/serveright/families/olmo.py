"""OLMo 2 and 3: norms after the blocks, q and k normed over all heads; OLMo 3 slides in three of four layers. OLMoE keeps norms before."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import LLAMA_NORMS, Style, biased, build
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"OlmoeForCausalLM", "Olmo2ForCausalLM", "Olmo3ForCausalLM"})
_STYLE = Style(
    dialect="olmo",
    defaults=Defaults(source="transformers 5.24 Olmo3Config", window=4096, full_every=4),
    qk_norm="full",
    norms=("post_attention_layernorm", "post_feedforward_layernorm"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    style = biased(fields, _STYLE)
    if name == "Olmo2ForCausalLM":
        style = replace(style, defaults=Defaults(source="transformers 5.24 Olmo2Config"))
    if name == "OlmoeForCausalLM":
        style = replace(style, defaults=Defaults(source="transformers 5.24 OlmoeConfig"), norms=LLAMA_NORMS, width_keys=("intermediate_size",))
    return build(fields, files, style)
