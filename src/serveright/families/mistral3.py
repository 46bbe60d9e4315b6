"""Mistral's vision models (Small 3.x, Ministral 3, Medium 3.5, Devstral Small 2; Small 4 with latent attention) and LLaVA-style Pixtral models (Apriel)."""

from functools import partial

from msgspec.structs import replace

from serveright.families import deepseek, towers, wrapped_towers
from serveright.families.attention import Defaults
from serveright.families.blocks import norm
from serveright.families.decoder import Style, Towers, build, start
from serveright.families.fields import Fields
from serveright.families.frame import Frame, text_of
from serveright.families.text_style import style_of
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Mistral3ForConditionalGeneration", "LlavaForConditionalGeneration"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    latent = text.has("kv_lora_rank")
    style = Style(dialect="mistral3", defaults=Defaults(source="")) if latent else style_of(text, "mistral3")
    llava = files.config["architectures"][0].startswith("Llava")
    if llava:
        style = replace(style, nested_root="language_model.model.", nested_head="language_model.lm_head")
    eyes = partial(_eyes, fields, files, llava)
    if not latent:
        return build(fields, files, style, towers=eyes)
    frame = start(fields, style, text)
    found = deepseek.decoder(frame, files, dialect="mistral3")
    tower, weights, modalities = eyes(frame)
    return replace(found, towers=tower, weights=found.weights + tuple(weights), modalities=("text", *modalities))


def _eyes(fields: Fields, files: ModelFiles, llava: bool, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    if config.text("model_type") not in ("pixtral", None):
        return wrapped_towers.read(fields, files, frame.hidden)
    prefix = "" if llava else "model."
    merge = 1 if llava else fields.int_or(2, "transformers 5.24 Mistral3Config", "spatial_merge_size", minimum=1)
    eye, weights = towers.pixtral(config, f"{prefix}vision_tower", merge)
    bias = fields.flag("multimodal_projector_bias", default=llava)
    fields.ignore("vision_feature_layer", "vision_feature_select_strategy", "image_seq_length")
    path = f"{prefix}multi_modal_projector"
    config.ignore("num_channels")
    joint: list[Weight] = []
    if not llava:
        joint = [
            *norm(f"{path}.norm", eye.hidden, part="vision"),
            *towers.dense(f"{path}.patch_merger.merging_layer", eye.hidden, eye.hidden * merge * merge, bias=False),
        ]
    joint += [*towers.dense(f"{path}.linear_1", frame.hidden, eye.hidden, bias=bias), *towers.dense(f"{path}.linear_2", frame.hidden, frame.hidden, bias=bias)]
    return (eye,), weights + joint, ("image",)
