"""EXAONE 4, 4.5 and K-EXAONE: norms after the blocks (4) or before them (MoE), windows in three of four layers."""

from functools import partial

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, Towers, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, text_of
from serveright.families.predictors import Predictor, predict
from serveright.types.model import Attention, Mixer, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Exaone4ForCausalLM", "Exaone4_5_ForConditionalGeneration", "ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM"})
_STYLE = Style(
    dialect="exaone",
    defaults=Defaults(source="transformers 5.24 Exaone4Config", window=4096),
    qk_norm="head",
    norms=("post_attention_layernorm", "post_feedforward_layernorm"),
)
_MOE = replace(
    _STYLE,
    defaults=Defaults(source="transformers 5.24 ExaoneMoeConfig", window=4096),
    norms=("input_layernorm", "post_attention_layernorm"),
    names=FfnNames(router_bias="e_score_correction_bias"),
)
_MTP = Predictor(path="mtp.layers.{i}", outer="mtp", join="fc", norms=("norm", "pre_fc_norm_hidden", "pre_fc_norm_embedding"), ffn="dense")


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    text = text_of(fields)
    text.ignore("_num_mtp_layers", "mtp_share_layers", "first_k_dense_replace", "first_last_k_dense_replace", "sliding_window_pattern")
    style = _MOE if name.startswith("ExaoneMo") else _STYLE
    return build(fields, files, style, towers=partial(_eyes, fields, files), mtp=partial(_mtp, style))


def _mtp(style: Style, frame: Frame, layers: list[Block]) -> list[Block]:
    """K-EXAONE's prediction layer sees what `mtp_layer_types` says, else what the main layer of the same number sees."""
    found = predict(frame, style, layers, _MTP)
    if style is not _MOE:
        return found
    words = frame.text.items("mtp_layer_types")
    return [replace(block, layer=replace(block.layer, mixers=_like(words, i, layers))) for i, block in enumerate(found)]


def _like(words: list[object] | None, i: int, layers: list[Block]) -> tuple[Mixer, ...]:
    if not words or i >= len(words):
        return layers[min(i, len(layers) - 1)].layer.mixers
    kind = "full" if words[i] == "full_attention" else "sliding"
    alike = (b.layer.mixers for b in layers if any(isinstance(m, Attention) and m.kind == kind for m in b.layer.mixers))
    return next(alike, layers[0].layer.mixers)


def _eyes(fields: Fields, files: ModelFiles, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    eye, weights = towers.qwen2_vl(config, files, "model.visual")
    return (eye,), weights, ("image", "video")
