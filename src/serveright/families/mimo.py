"""MiMo 7B (Qwen2 with a prediction layer) and MiMo V2: K and V of different widths, window layers with heads and sinks of their own, one dense layer in front."""

from functools import partial

from msgspec.structs import replace

from serveright.families import mimo_towers, qwen
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, Towers, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, text_of
from serveright.families.predictors import Predictor, predict
from serveright.types.model import ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_V2 = {"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2OmniForCausalLM"}
ARCHITECTURES = frozenset(_V2 | {"MiMoForCausalLM"})
_STYLE = Style(
    dialect="mimo",
    defaults=Defaults(source="vLLM 0.33.0 MiMoV2FlashForCausalLM"),
    nested_root="model.",
    names=FfnNames(router_bias="gate.e_score_correction_bias"),
    sink_name="attention_sink_bias",
)
_MTP7 = Predictor(path="model.mtp_layers.{i}", join="input_proj", norms=("token_layernorm", "hidden_layernorm", "final_layernorm"))
_MTP2 = Predictor(path="model.mtp.layers.{i}", norms=("enorm", "hnorm", "final_layernorm"), mixer="sliding", ffn="dense")
_STORED = 3
"""Prediction layers every published V2 checkpoint holds, though no config names them."""


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    if files.config["architectures"][0] == "MiMoForCausalLM":
        style = replace(qwen.qwen2(text), dialect="mimo")
        return build(fields, files, style, mtp=partial(_predict, style, _MTP7, None))
    if text.raw.get("hybrid_layer_pattern") is None and text.raw.get("layer_types") is not None:
        _by_layer_types(text)
    elif text.opt_int("sliding_window_size"):
        text.substitute("sliding_window", text.opt_int("sliding_window_size"))
    sinks = {kind for kind, key in (("sliding", "add_swa_attention_sink_bias"), ("full", "add_full_attention_sink_bias")) if text.flag(key)}
    fused = text.text("attention_projection_layout") == "fused_qkv"
    bias = text.flag("attention_bias")
    style = replace(_STYLE, sinks=frozenset(sinks), fused_qkv="qkv_proj" if fused else None, qkv_bias=bias)
    text.ignore("attention_chunk_size", "hybrid_block_size", "sliding_window_size", "swa_rope_theta", "attention_value_scale")
    return build(fields, files, style, towers=partial(_towers, fields, files), mtp=partial(_predict, style, _MTP2, _STORED))


def _towers(fields: Fields, files: ModelFiles, frame: Frame) -> Towers:
    eyes, ears = fields.child("vision_config"), fields.child("audio_config")
    found: list[Tower] = []
    weights: list[Weight] = []
    if eyes is not None:
        fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
        tower, own = mimo_towers.vision(eyes, files, "visual")
        found.append(tower)
        weights += own
    if ears is not None:
        fields.note("audio_config", msg("an audio encoder stands in front: speech and sound in"), "…")
        tower, own = mimo_towers.audio(ears, "audio_encoder")
        found.append(tower)
        weights += own
    return tuple(found), weights, (*(("image", "video") if eyes else ()), *(("audio",) if ears else ()))


def _by_layer_types(text: Fields) -> None:
    """transformers' spelling leaves to its class what the published config says: window layers have sinks and twice the KV heads."""
    source = "transformers 5.24 MiMoV2FlashAttention"
    text.default("swa_num_key_value_heads", 2 * text.integer("num_key_value_heads"), source)
    text.default("add_swa_attention_sink_bias", value=True, source=source)
    text.substitute("sliding_window", text.integer("sliding_window", minimum=2) - 1)  # counts the query too, the published spelling does not


def _predict(style: Style, plan: Predictor, stored: int | None, frame: Frame, layers: list[Block]) -> list[Block]:
    text = frame.text
    if stored is not None and not text.has("num_nextn_predict_layers"):
        text.assume("num_nextn_predict_layers", stored, "vLLM 0.33.0 mimo_v2_mtp")
        return predict(frame, style, layers, plan, stored)
    return predict(frame, style, layers, plan)
