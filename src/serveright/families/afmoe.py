"""Arcee's AFMoE (Trinity): a gate per channel on the attention output, norms around both blocks, dense layers in front; and Kolibri's close relative without gates."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"AfmoeForCausalLM", "Kolibri1ForCausalLM"})
_AFMOE = Style(
    dialect="afmoe",
    defaults=Defaults(source="transformers 5.24 AfmoeConfig", window=1024, full_every=4),
    qk_norm="head",
    gate="full",
    gate_name="gate_proj",
    norms=("input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm"),
    names=FfnNames(router="router.gate", router_bias="expert_bias"),
)
_KOLIBRI = replace(
    _AFMOE,
    defaults=Defaults(source="transformers 5.24 Kolibri1Config", head_dim=128, window=513, full_every=5),
    gate="none",
    norms=("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"),
    names=FfnNames(router_bias="gate.e_score_correction_bias"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    fields.ignore("global_attn_every_n_layers", "num_expert_groups", "num_limited_groups", "load_balance_coeff")
    style = _AFMOE if files.config["architectures"][0] == "AfmoeForCausalLM" else _KOLIBRI
    return build(fields, files, biased(fields, style))
