"""MiniCPM-V 4.6 and 4.7: the Qwen3.5 hybrid behind SigLIP, a window attention that merges patches inside it, and a second merger."""

from serveright.families import qwen_hybrid, towers
from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.families.frame import open_frame, text_of
from serveright.types.model import ImageGeometry, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"MiniCPMV4_6ForConditionalGeneration", "MiniCPMV4_7ForConditionalGeneration"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.language_model.")
    return qwen_hybrid.decoder(frame, files, dialect="minicpmv", eyes=_eyes(fields, frame.hidden))


def _eyes(fields: Fields, out: int) -> qwen_hybrid.Eyes:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    fields.ignore("insert_layer_id", "drop_vision_last_layer", "image_size", "merge_kernel_size", "merger_times")
    config.ignore("insert_layer_id", "window_kernel_size")
    hidden, wide = config.integer("hidden_size"), 4 * config.integer("intermediate_size")
    root = "model.vision_tower"
    eye, weights = towers.siglip(config, root, ImageGeometry(patch_pixels=config.integer("patch_size"), merge=4))
    merger = f"{root}.vit_merger"
    weights = [
        *weights,
        *(w for name in ("q_proj", "k_proj", "v_proj", "out_proj") for w in towers.dense(f"{merger}.self_attn.{name}", hidden, hidden)),
        *norm(f"{merger}.layer_norm1", hidden, bias=True, part="vision"),
        *norm(f"{merger}.pre_norm", 4 * hidden, bias=True, part="vision"),
        *towers.dense(f"{merger}.linear_1", wide, 4 * hidden),
        *towers.dense(f"{merger}.linear_2", hidden, wide),
        *norm("model.merger.mlp.0.pre_norm", 4 * hidden, bias=True, part="vision"),
        *towers.dense("model.merger.mlp.0.linear_1", 4 * hidden, 4 * hidden),
        *towers.dense("model.merger.mlp.0.linear_2", out, 4 * hidden),
    ]
    return (eye,), weights, ("image", "video")
