"""InternVL and Intern-S1: InternViT in front of a Qwen, Llama or gpt-oss decoder, images cut into tiles."""

from functools import partial

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.blocks import norm
from serveright.families.decoder import Towers, build
from serveright.families.fields import Fields
from serveright.families.frame import Frame, text_of
from serveright.families.text_style import style_of
from serveright.types.model import ImageGeometry, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_CHAT = {"InternVLChatModel"}
ARCHITECTURES = frozenset(_CHAT | {"InternS1ForConditionalGeneration", "InternVLForConditionalGeneration"})
_SOURCE = "transformers 5.24 InternVLVisionConfig"


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    chat = files.config["architectures"][0] in _CHAT
    style = style_of(text_of(fields), "internvl")
    if chat:
        style = replace(style, nested_root="language_model.model.", nested_head="language_model.lm_head")
    fields.ignore(
        "downsample_ratio", "select_layer", "template", "dynamic_image_size", "use_thumbnail", "ps_version", "min_dynamic_patch", "vision_feature_layer"
    )
    return build(fields, files, style, towers=partial(_eyes, fields, chat))


def _side(config: Fields, key: str, default: int) -> int:
    """A side in pixels, given as a number or as a pair."""
    if isinstance(config.raw.get(key), list):
        return max(1, (config.ints(key) or (default,))[0])
    return config.int_or(default, _SOURCE, key, minimum=1)


def _eyes(fields: Fields, chat: bool, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    hidden, patch, size = config.integer("hidden_size"), _side(config, "patch_size", 14), _side(config, "image_size", 448)
    plain = config.text("norm_type") != "rms_norm"
    bias = config.flag("qkv_bias", "attention_bias", default=True)
    normed = config.flag("qk_normalization", "use_qk_norm")
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        intermediate=config.integer("intermediate_size"),
        qkv=("attn.qkv",) if chat else ("attention.q_proj", "attention.k_proj", "attention.v_proj"),
        out="attn.proj" if chat else "attention.projection_layer",
        norms=("norm1", "norm2") if chat else ("layernorm_before", "layernorm_after"),
        scales=("ls1", "ls2") if chat else ("lambda_1", "lambda_2"),
        norm_bias=plain,
        qkv_bias=bias,
    )
    config.ignore("num_channels", "use_mask_token", "use_mean_pooling", "layer_scale_init_value", "use_absolute_position_embeddings", "use_flash_attn")
    path = "vision_model" if chat else "model.vision_tower"
    layers = f"{path}.encoder.layers" if chat else f"{path}.encoder.layer"
    weights = [
        *towers.dense(f"{path}.embeddings.patch_embedding", hidden, 3 * patch * patch),
        towers.table(f"{path}.embeddings.class_embedding", hidden),
        towers.table(f"{path}.embeddings.position_embedding", (size // patch) ** 2 + 1, hidden),
        *towers.blocks(layers, vit),
        *_projector("mlp1" if chat else "model.multi_modal_projector", 4 * hidden, frame.hidden, chat),
    ]
    if normed:
        for index in range(vit.layers):
            for name in ("q_norm", "k_norm"):
                weights += norm(f"{layers}.{index}.{'attn' if chat else 'attention'}.{name}", hidden, part="vision")
    tiles = fields.opt_int("max_dynamic_patch", minimum=1)
    per_tile = (size // patch // 2) ** 2
    image = ImageGeometry(patch_pixels=patch, merge=2, tile_pixels=size, tokens_per_image=per_tile, max_tokens=per_tile * (tiles + 1) if tiles else None)
    return (towers.tower(vit, image),), weights, ("image", "video")


def _projector(path: str, wide: int, out: int, chat: bool) -> list[Weight]:
    first, second, third = ("0", "1", "3") if chat else ("layer_norm", "linear_1", "linear_2")
    return [*norm(f"{path}.{first}", wide, bias=True, part="vision"), *towers.dense(f"{path}.{second}", out, wide), *towers.dense(f"{path}.{third}", out, out)]
