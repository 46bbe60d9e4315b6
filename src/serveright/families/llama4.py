"""Llama 4: chunked attention with positions in three of four layers, full attention without them in the fourth; one shared expert beside the routed ones."""

from functools import partial

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.blocks import norm
from serveright.families.decoder import Style, Towers, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Frame, text_of
from serveright.types.model import ImageGeometry, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Llama4ForCausalLM", "Llama4ForConditionalGeneration"})
_SOURCE = "transformers 5.24 Llama4TextConfig"
_STYLE = Style(
    dialect="llama4",
    defaults=Defaults(source=_SOURCE, kv_heads=8, head_dim=128, chunk=8192, full_every=4, other="chunked"),
    nested_root="language_model.model.",
    nested_head="language_model.lm_head",
    names=FfnNames(block="feed_forward", router="router", shared="shared_expert", fused=("gate_up_proj", "down_proj")),
    width_keys=("intermediate_size",),
    dense_keys=("intermediate_size_mlp", "intermediate_size"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    text.default("n_shared_experts", 1, _SOURCE)
    text.ignore("for_llm_compressor", "no_rope_layer_interval", "attn_temperature_tuning")
    return build(fields, files, _STYLE, towers=partial(_eyes, fields))


def _eyes(fields: Fields, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        if frame.text is not fields:
            fields.unknown("vision_config", msg("the class has a vision encoder, but this config does not describe it; it is not counted"))
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    hidden, patch, size = config.integer("hidden_size"), config.integer("patch_size"), config.integer("image_size")
    inner = config.integer("intermediate_size")
    wide = config.integer("projector_output_dim")
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        intermediate=inner,
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.o_proj",
        norms=("input_layernorm", "post_attention_layernorm"),
    )
    config.ignore(
        "num_channels", "vision_feature_layer", "vision_feature_select_strategy", "multi_modal_projector_bias", "pixel_shuffle_ratio", "vision_output_dim"
    )
    path = "vision_model"
    weights = [
        *towers.dense(f"{path}.patch_embedding.linear", hidden, 3 * patch * patch, bias=False),
        towers.table(f"{path}.class_embedding", hidden),
        towers.table(f"{path}.positional_embedding_vlm", (size // patch) ** 2 + 1, hidden),
        *norm(f"{path}.layernorm_pre", hidden, bias=True, part="vision"),
        *norm(f"{path}.layernorm_post", hidden, bias=True, part="vision"),
        *towers.blocks(f"{path}.model.layers", vit),
        *towers.dense(f"{path}.vision_adapter.mlp.fc1", config.integer("projector_input_dim"), inner, bias=False),
        *towers.dense(f"{path}.vision_adapter.mlp.fc2", wide, wide, bias=False),
        *towers.dense("multi_modal_projector.linear_1", frame.hidden, config.opt_int("vision_output_dim", minimum=1) or wide, bias=False),
    ]
    per_tile = (size // patch // 2) ** 2
    return (towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=2, tile_pixels=size, tokens_per_image=per_tile)),), weights, ("image",)
