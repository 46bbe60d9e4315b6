"""Cohere's Command models: one norm before attention and MLP side by side, windows between full layers, tied head; with SigLIP in front, or experts."""

from functools import partial

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, Towers, biased, build
from serveright.families.ffn import DENSE_WIDTH, FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Frame, text_of
from serveright.types.model import ImageGeometry, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"CohereForCausalLM", "Cohere2ForCausalLM", "Cohere2MoeForCausalLM", "Cohere2VisionForConditionalGeneration"})
_SOURCE = "transformers 5.24 Cohere2Config"
_STYLE = Style(
    dialect="cohere",
    defaults=Defaults(source=_SOURCE, window=4096, full_every=4),
    norms=("input_layernorm",),
    tied=True,
    width_keys=("moe_intermediate_size", "intermediate_size"),
    dense_keys=("prefix_dense_intermediate_size", *DENSE_WIDTH),
    names=FfnNames(),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    style = biased(text, _STYLE)
    if files.config["architectures"][0] == "CohereForCausalLM":
        style = replace(style, defaults=Defaults(source="transformers 5.24 CohereConfig"))
    if text.flag("use_qk_norm"):
        style = replace(style, qk_norm="full")
    text.ignore(
        "order_of_interleaved_layers", "layer_switch", "prefix_dense_sliding_window_pattern", "shared_expert_combination_strategy", "expert_selection_fn"
    )
    text.ignore("_sliding_window_pattern", "sliding_window_pattern", "use_parallel_block", "use_parallel_embedding", "use_gated_activation")
    return build(fields, files, style, towers=partial(_eyes, fields))


def _eyes(fields: Fields, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    factor = fields.int_or(2, "transformers 5.24 Cohere2VisionConfig", "downsample_factor", minimum=1)
    inner = fields.int_or(36864, "transformers 5.24 Cohere2VisionConfig", "alignment_intermediate_size", minimum=2)
    patch, size = config.integer("patch_size"), config.integer("image_size")
    tiles = fields.opt_int("max_splits_per_img", minimum=1)
    per_tile = (size // patch // factor) ** 2
    geometry = ImageGeometry(
        patch_pixels=patch, merge=factor, tile_pixels=size, tokens_per_image=per_tile, max_tokens=per_tile * (tiles + 1) if tiles else None
    )
    eye, weights = towers.siglip(config, "model.vision_tower", geometry)
    weights += [
        *towers.dense("model.multi_modal_projector.linear_1", inner, eye.hidden * factor * factor),
        *towers.dense("model.multi_modal_projector.linear_2", frame.hidden, inner // 2),
    ]
    return (eye,), weights, ("image",)
