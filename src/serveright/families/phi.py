"""Phi-3 and Phi-4: fused projections; Phi-3.5-MoE; Phi-4-multimodal's decoder."""

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Phi3ForCausalLM", "Phi4MMForCausalLM", "PhiMoEForCausalLM"})
_PHI3 = Style(
    dialect="phi",
    defaults=Defaults(source="transformers 5.24 Phi3Config", window_all=True),
    fused_qkv="qkv_proj",
    names=FfnNames(dense_fused="gate_up_proj"),
)
_MOE = Style(
    dialect="phi",
    defaults=Defaults(source="transformers 5.24 PhimoeConfig", window_all=True, kv_heads=8),
    names=FfnNames(block="block_sparse_moe", matrices=("w1", "w3", "w2")),
    width_keys=("intermediate_size",),
    norm_bias=True,
    final_norm_bias=True,
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    if name == "PhiMoEForCausalLM":
        bias = fields.flag("attention_bias")
        return build(fields, files, replace(_MOE, qkv_bias=bias, out_bias=bias))
    fields.ignore("full_attn_mod")
    found = build(fields, files, _PHI3)
    if name != "Phi4MMForCausalLM":
        return found
    for key in ("embd_layer", "img_processor", "audio_processor", "vision_lora", "speech_lora"):
        if isinstance(fields.raw.get(key), dict):
            towers.unread(fields, key)
    fields.unknown("img_processor", msg("the vision and audio encoders and their adapters stand in code, not in the config; they are not counted"))
    return replace(found, modalities=("text", "image", "audio"))
