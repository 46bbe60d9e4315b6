"""The encoders of wrapped decoders: SigLIP, CLIP, Pixtral and Qwen2-VL are counted with their projectors where these are plain; any other is named with its size."""

from typing import cast

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.blocks import norm
from serveright.families.decoder import Towers
from serveright.families.fields import Fields
from serveright.types.model import ImageGeometry, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_VISION = ("vision_config", "visual", "vit_config", "visual_config", "vision_tower_config", "img_processor")
_AUDIO = ("audio_config", "encoder_config", "speech_config", "audio_encoder_config", "asr_config")
_WHISPER = {"Qwen2AudioForConditionalGeneration", "VoxtralForConditionalGeneration", "AudioFlamingo3ForConditionalGeneration"}
_IDEFICS = {"Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"}
_LLAVA = {
    "LlavaForConditionalGeneration",
    "LlavaNextForConditionalGeneration",
    "LlavaNextVideoForConditionalGeneration",
    "LlavaOnevisionForConditionalGeneration",
}

_PATCHES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "patch_size", "image_size")
_MERGED = ("hidden_size", "intermediate_size", "depth", "num_heads", "patch_size", "spatial_merge_size", "temporal_patch_size", "out_hidden_size")
_NEEDED = {
    "clip_vision_model": _PATCHES,
    "siglip_vision_model": _PATCHES,
    "qwen2_5_vl": _MERGED,
    "qwen3_vl": (*_MERGED, "num_position_embeddings"),
    "qwen3_vl_moe": (*_MERGED, "num_position_embeddings"),
}
"""What an encoder's config must hold to be counted by its `model_type` alone."""


def read(fields: Fields, files: ModelFiles, out: int) -> Towers:
    """Towers, tensors and modalities of whatever encoders the config names; `out` is the decoder's width."""
    levels = [fields] + [child for key in ("thinker_config",) if isinstance(fields.raw.get(key), dict) and (child := fields.child(key))]
    found: list[Tower] = []
    weights: list[Weight] = []
    modalities: list[str] = []
    for level in levels:
        for key in _VISION:
            if isinstance(level.raw.get(key), dict):
                level.note(key, msg("a vision encoder stands in front: images in"), "…")
                tower, own = _eye(level, key, files, out)
                found += tower
                weights += own
                modalities.append("image")
        for key in _AUDIO:
            if isinstance(level.raw.get(key), dict):
                level.note(key, msg("an audio encoder stands in front: speech and sound in"), "…")
                tower, own = _ear(level, key, files, out)
                found += tower
                weights += own
                modalities.append("audio")
    _other_parts(fields)
    return tuple(found), weights, tuple(modalities)


def _eye(fields: Fields, key: str, files: ModelFiles, out: int) -> tuple[list[Tower], list[Weight]]:
    config = fields.child(key)
    name = _name(files)
    word = config.text("model_type") if config else None
    if config is None:
        return [], []
    if name in _LLAVA and word in ("clip_vision_model", "siglip_vision_model"):
        tower, weights = _clip(config, "vision_tower.vision_model") if word == "clip_vision_model" else _siglip(config, "vision_tower.vision_model")
        path = "multi_modal_projector"
        fields.ignore("vision_feature_layer", "vision_feature_select_strategy", "image_grid_pinpoints", "projector_hidden_act", "multimodal_projector_bias")
        joint = [*towers.dense(f"{path}.linear_1", out, tower.hidden), *towers.dense(f"{path}.linear_2", out, out)]
        return [tower], weights + joint + ([] if name == "LlavaForConditionalGeneration" else [towers.table("image_newline", out)])
    if name == "PaliGemmaForConditionalGeneration":
        tower, weights = _siglip(config, "vision_tower.vision_model")
        config.ignore("projection_dim", "num_image_tokens")
        return [tower], weights + towers.dense("multi_modal_projector.linear", out, tower.hidden)
    if name in _IDEFICS:
        tower, weights = _siglip(config, "model.vision_model")
        scale = fields.int_or(2, "transformers 5.24 Idefics3Config", "scale_factor", minimum=1)
        return [tower], weights + towers.dense("model.connector.modality_projection.proj", out, tower.hidden * scale * scale, bias=False)
    if name == "Qwen2VLForConditionalGeneration":
        return _qwen2(config, files)
    return _by_type(fields, key, config, files) or (named(fields, key, "vision"), [])


def _name(files: ModelFiles) -> str:
    listed: object = files.config.get("architectures")
    return str(cast("list[object]", listed)[0]) if isinstance(listed, list) and listed else ""


def _by_type(fields: Fields, key: str, config: Fields, files: ModelFiles) -> tuple[list[Tower], list[Weight]] | None:
    """An encoder whose own `model_type` says what it is, in front of a projector that is not known; None for any other word."""
    stated = (config.opt_int("num_hidden_layers") or 0, config.opt_int("hidden_size") or 0)
    word = config.text("model_type")
    if word is None or any(config.raw.get(key) is None for key in _NEEDED.get(word, ())):
        return None
    if word == "clip_vision_model":
        tower, weights = _clip(config, key)
    elif word == "siglip_vision_model":
        tower, weights = _siglip(config, key)
    elif word == "qwen2_5_vl":
        tower, weights = towers.qwen2_vl(config, files, key)
    elif word in ("qwen3_vl", "qwen3_vl_moe"):
        tower, weights = towers.qwen3_vl(config, files, key)
    else:
        return None
    config.ignore(*config.raw)
    if not word.startswith("qwen"):
        fields.unknown(key, msg("the encoder is counted, what joins it to the decoder is not"))
    return [replace(tower, stated=stated)], weights


def _siglip(config: Fields, path: str) -> towers.Read:
    patch, size = config.integer("patch_size"), config.integer("image_size")
    return towers.siglip(config, path, ImageGeometry(patch_pixels=patch, tile_pixels=size, tokens_per_image=(size // patch) ** 2))


def _clip(config: Fields, path: str) -> towers.Read:
    """CLIP's encoder: a class token, learned positions, a norm before and one behind the blocks; no biases on the patches."""
    hidden, patch, size = config.integer("hidden_size"), config.integer("patch_size"), config.integer("image_size")
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        intermediate=config.integer("intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        norms=("layer_norm1", "layer_norm2"),
    )
    config.ignore("projection_dim", "num_channels", "vocab_size")
    positions = (size // patch) ** 2
    weights = [
        towers.table(f"{path}.embeddings.class_embedding", hidden),
        *towers.dense(f"{path}.embeddings.patch_embedding", hidden, 3 * patch * patch, bias=False),
        towers.table(f"{path}.embeddings.position_embedding", positions + 1, hidden),
        *norm(f"{path}.pre_layrnorm", hidden, bias=True, part="vision"),
        *towers.blocks(f"{path}.encoder.layers", vit),
        *norm(f"{path}.post_layernorm", hidden, bias=True, part="vision"),
    ]
    return towers.tower(vit, ImageGeometry(patch_pixels=patch, tile_pixels=size, tokens_per_image=positions)), weights


def _qwen2(config: Fields, files: ModelFiles) -> tuple[list[Tower], list[Weight]]:
    """Qwen2-VL: LayerNorms, plain MLP, a two-layer merger."""
    hidden, patch, merge = (
        config.integer("embed_dim"),
        config.integer("patch_size"),
        config.int_or(2, "transformers 5.24 Qwen2VLVisionConfig", "spatial_merge_size"),
    )
    ratio = config.int_or(4, "transformers 5.24 Qwen2VLVisionConfig", "mlp_ratio", minimum=1)
    vit = towers.Vit(layers=config.integer("depth"), hidden=hidden, heads=config.integer("num_heads"), intermediate=hidden * ratio)
    out = config.integer("hidden_size")
    config.ignore(*config.raw)
    wide = hidden * merge * merge
    frames = config.int_or(2, "transformers 5.24 Qwen2VLVisionConfig", "temporal_patch_size", minimum=1)
    weights = [
        *towers.dense("visual.patch_embed.proj", hidden, 3 * frames * patch * patch, bias=False),
        *towers.blocks("visual.blocks", vit),
        *norm("visual.merger.ln_q", hidden, bias=True, part="vision"),
        *towers.two_layers("visual.merger.mlp.0", "visual.merger.mlp.2", wide, out),
    ]
    return [replace(towers.tower(vit, towers.pixels(files, patch, merge)), stated=(0, out))], weights


def _ear(fields: Fields, key: str, files: ModelFiles, out: int) -> tuple[list[Tower], list[Weight]]:
    """Whisper's encoder with the projector of its model; any other is named."""
    name, config = _name(files), fields.child(key)
    if config is None or name not in _WHISPER or config.raw.get("num_mel_bins") is None:
        return named(fields, key, "audio"), []
    tower, weights = _whisper(config, "audio_tower")
    if name != "VoxtralForConditionalGeneration":
        weights = [replace(weight, shard="replicated") for weight in weights]  # the library's own class, which no engine cuts
    path = "multi_modal_projector"
    if name == "Qwen2AudioForConditionalGeneration":
        return [tower], weights + towers.dense(f"{path}.linear", out, tower.hidden, part="audio")
    plain = name == "VoxtralForConditionalGeneration"
    into = tower.intermediate if plain else tower.hidden
    first = towers.dense(f"{path}.linear_1", out, into, bias=not plain, part="audio")
    return [tower], weights + first + towers.dense(f"{path}.linear_2", out, out, bias=not plain, part="audio")


def _whisper(config: Fields, path: str) -> towers.Read:
    """Two convolutions, learned positions, plain blocks whose keys have no bias."""
    hidden, mel = config.integer("d_model", "hidden_size"), config.integer("num_mel_bins")
    vit = towers.Vit(
        part="audio",
        layers=config.integer("encoder_layers", "num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("encoder_attention_heads", "num_attention_heads"),
        intermediate=config.integer("encoder_ffn_dim", "intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        mlp=("fc1", "fc2"),
        norms=("self_attn_layer_norm", "final_layer_norm"),
    )
    positions = config.int_or(1500, "transformers 5.24 WhisperConfig", "max_source_positions", minimum=1)
    config.ignore(*config.raw)
    blocks = [weight for weight in towers.blocks(f"{path}.layers", vit) if not weight.path.endswith("k_proj.bias")]
    weights = [
        *towers.dense(f"{path}.conv1", hidden, 3 * mel, part="audio"),
        *towers.dense(f"{path}.conv2", hidden, 3 * hidden, part="audio"),
        towers.table(f"{path}.embed_positions", positions, hidden, part="audio"),
        *blocks,
        *norm(f"{path}.layer_norm", hidden, bias=True, part="audio"),
    ]
    return towers.tower(vit), weights


def named(fields: Fields, key: str, kind: str) -> list[Tower]:
    """An encoder of another layout: its depth and width where the config gives them, no weights."""
    child = fields.child(key)
    if child is None:
        return []
    layers = child.opt_int("num_hidden_layers", "depth", "encoder_layers", "num_layers", "layers", "n_layer") or 0
    hidden = child.opt_int("hidden_size", "embed_dim", "d_model", "width", "n_state", "hidden_dim") or 0
    heads = child.opt_int("num_attention_heads", "num_heads", "encoder_attention_heads", "heads") or 0
    stated = (child.opt_int("num_hidden_layers") or 0, child.opt_int("hidden_size") or 0)
    towers.unread(fields, key)
    fields.unknown(key, msg("this encoder's weights cannot be derived from its config; they are not counted"))
    return [Tower(kind="audio" if kind == "audio" else "vision", layers=layers, hidden=hidden, heads=heads, stated=stated)]


def _other_parts(fields: Fields) -> None:
    """Speech output, projectors and diffusion parts: text serving does not load them, or their size stands in code."""
    for key in (
        "talker_config",
        "token2wav_config",
        "code2wav_config",
        "projector_config",
        "qformer_config",
        "tts_config",
        "vision_tower",
        "mm_projector_type",
        "acoustic_tokenizer_encoder_config",
        "semantic_tokenizer_encoder_config",
    ):
        if isinstance(fields.raw.get(key), dict):
            towers.unread(fields, key)
            fields.unknown(key, msg("this encoder's weights cannot be derived from its config; they are not counted"))
    fields.ignore("mm_vision_tower", "mm_hidden_size", "mm_projector_type", "mm_vision_select_layer", "mm_vision_select_feature", "image_aspect_ratio")
