"""Qwen's vision and omni models on a Qwen2 or Qwen3 decoder: Qwen2.5-VL, Qwen3-VL, Qwen3-Omni (its thinker; the talker counts as a part of its own)."""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from serveright.families import qwen, towers
from serveright.families.decoder import Style, Towers, build
from serveright.families.fields import Fields
from serveright.families.frame import Frame, text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_QWEN2 = {"Qwen2_5_VLForConditionalGeneration"}
_QWEN3 = {"Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"}
_OMNI = {"Qwen3OmniMoeForConditionalGeneration"}
ARCHITECTURES = frozenset(_QWEN2 | _QWEN3 | _OMNI)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    text = text_of(fields)
    if name in _QWEN2:
        layout = replace(qwen.qwen2(text), dialect="qwen_vl", nested_root="model.")
        return _build(fields, files, layout, partial(_eyes, fields, files, towers.qwen2_vl, "visual"))
    layout = replace(qwen.qwen3(text), dialect="qwen_vl")
    if name in _QWEN3:
        return _build(fields, files, layout, partial(_eyes, fields, files, towers.qwen3_vl, "model.visual"))
    thinker = fields.child("thinker_config") or fields
    for key in ("talker_config", "code2wav_config"):
        if fields.has(key):
            towers.unread(fields, key)
            fields.unknown(key, msg("the speech part of the model is not counted: text serving does not load it"))
    layout = replace(layout, nested_root="thinker.model.", nested_head="thinker.lm_head")
    return _build(fields, files, layout, partial(_ears, thinker, files))


def _build(fields: Fields, files: ModelFiles, layout: Style, read: Callable[[Frame], Towers]) -> ModelShape:
    return build(fields, files, layout, towers=read)


def _eyes(fields: Fields, files: ModelFiles, read: Callable[[Fields, ModelFiles, str], towers.Read], path: str, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    eye, weights = read(config, files, path)
    return (eye,), weights, ("image", "video")


def _ears(thinker: Fields, files: ModelFiles, frame: Frame) -> Towers:
    eyes, weights, modalities = _eyes(thinker, files, towers.qwen3_vl, "thinker.visual", frame)
    config = thinker.child("audio_config")
    if config is None:
        return eyes, weights, modalities
    thinker.note("audio_config", msg("an audio encoder stands in front: speech and sound in"), "…")
    ear, more = towers.whisper(config, "thinker.audio_tower")
    return (*eyes, ear), weights + more, (*modalities, "audio")
