"""Encoders in front of a decoder that has a dialect of its own: the nested text config names the decoder, which is read as if it stood alone.

Its cache and weights are exact; encoders are counted where their layout is known, and reported as unknown elsewhere.
"""

from typing import cast

from msgspec.structs import replace

from serveright.families import wrapped_towers
from serveright.families.dialects import Reader, reader_of
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

BY_MODEL_TYPE = {
    "aria_text": "AriaTextForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "ministral3": "Ministral3ForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "qwen": "QWenLMHeadModel",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen2_vl": "Qwen2ForCausalLM",
    "qwen2_vl_text": "Qwen2ForCausalLM",
    "qwen2_5_omni_text": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_vl_text": "Qwen3ForCausalLM",
    "qwen3_vl_moe_text": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "phi": "PhiForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "phi3_v": "Phi3ForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "granite": "GraniteForCausalLM",
    "granitemoe": "GraniteMoeForCausalLM",
    "granitemoeshared": "GraniteMoeSharedForCausalLM",
    "granitemoehybrid": "GraniteMoeHybridForCausalLM",
    "cohere": "CohereForCausalLM",
    "cohere2": "Cohere2ForCausalLM",
    "deepseek": "DeepseekForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "opt": "OPTForCausalLM",
    "lfm2": "Lfm2ForCausalLM",
    "lfm2_moe": "Lfm2MoeForCausalLM",
    "internlm2": "InternLM2ForCausalLM",
    "internlm3": "InternLM3ForCausalLM",
    "hyperclovax": "HyperCLOVAXForCausalLM",
    "ernie4_5": "Ernie4_5ForCausalLM",
    "glm": "GlmForCausalLM",
    "glm4": "Glm4ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "olmo": "OlmoForCausalLM",
    "olmo2": "Olmo2ForCausalLM",
    "olmo3": "Olmo3ForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
    "starcoder2": "Starcoder2ForCausalLM",
    "stablelm": "StableLmForCausalLM",
    "persimmon": "PersimmonForCausalLM",
    "seed_oss": "SeedOssForCausalLM",
    "nemotron_h": "NemotronHForCausalLM",
    "minicpm": "MiniCPMForCausalLM",
    "exaone4": "Exaone4ForCausalLM",
    "hunyuan_v1_dense": "HunYuanDenseV1ForCausalLM",
    "step3_text": "Step3TextForCausalLM",
    "kimi_linear": "KimiLinearForCausalLM",
}
"""`model_type` of a nested config -> its causal class (transformers 5.24, auto/modeling_auto.py; composed models by their own classes)."""
_DECODERS = {
    "AriaForConditionalGeneration": "AriaTextForCausalLM",
    "AudioFlamingo3ForConditionalGeneration": "Qwen2ForCausalLM",
    "MusicFlamingoForConditionalGeneration": "Qwen2ForCausalLM",
    "BeeForConditionalGeneration": "Qwen3ForCausalLM",
    "Blip2ForConditionalGeneration": "OPTForCausalLM",
    "DotsOCRForCausalLM": "Qwen2ForCausalLM",
    "DotsVLMForCausalLM": "DeepseekV3ForCausalLM",
    "DeepseekVLV2ForCausalLM": "DeepseekV2ForCausalLM",
    "DeepseekVL2ForCausalLM": "DeepseekV2ForCausalLM",
    "Eagle2_5_VLForConditionalGeneration": "Qwen2ForCausalLM",
    "GlmAsrForConditionalGeneration": "LlamaForCausalLM",
    "Granite4VisionForConditionalGeneration": "GraniteMoeHybridForCausalLM",
    "GraniteSpeechForConditionalGeneration": "GraniteForCausalLM",
    "GraniteSpeechPlusForConditionalGeneration": "GraniteForCausalLM",
    "BailingMoeV3VLForConditionalGeneration": "BailingMoeV3ForCausalLM",
    "H2OVLChatModel": "",
    "HCXVisionV2ForCausalLM": "HyperCLOVAXForCausalLM",
    "Idefics3ForConditionalGeneration": "LlamaForCausalLM",
    "SmolVLMForConditionalGeneration": "LlamaForCausalLM",
    "KananaVForConditionalGeneration": "LlamaForCausalLM",
    "KeyeForConditionalGeneration": "Qwen3ForCausalLM",
    "KeyeVL1_5ForConditionalGeneration": "Qwen3ForCausalLM",
    "Lfm2VlForConditionalGeneration": "Lfm2ForCausalLM",
    "LightOnOCRForConditionalGeneration": "Qwen3ForCausalLM",
    "LlamaNemotronVLModel": "LlamaForCausalLM",
    "Llama_Nemotron_Nano_VL": "LlamaForCausalLM",
    "LlavaLlamaForCausalLM": "LlamaForCausalLM",
    "LlavaMistralForCausalLM": "MistralForCausalLM",
    "LlavaQwenForCausalLM": "Qwen2ForCausalLM",
    "LlavaVidForCausalLM": "LlamaForCausalLM",
    "LlavaNextForConditionalGeneration": "LlamaForCausalLM",
    "LlavaNextVideoForConditionalGeneration": "LlamaForCausalLM",
    "LlavaOnevisionForConditionalGeneration": "Qwen2ForCausalLM",
    "LlavaOnevision2ForConditionalGeneration": "Qwen3ForCausalLM",
    "MiDashengLMModel": "Qwen2ForCausalLM",
    "MoonshotKimiaForCausalLM": "Qwen2ForCausalLM",
    "MultiModalityCausalLM": "LlamaForCausalLM",
    "MiniCPMV": "",
    "MiniCPMO": "",
    "DeepseekOCRForCausalLM": "DeepseekForCausalLM",
    "DeepseekOCR2ForCausalLM": "DeepseekForCausalLM",
    "UnlimitedOCRForCausalLM": "DeepseekForCausalLM",
    "FunAudioChatForConditionalGeneration": "Qwen3ForCausalLM",
    "GLM4VForCausalLM": "ChatGLMModel",
    "HunYuanVLForConditionalGeneration": "HunYuanDenseV1ForCausalLM",
    "IsaacForConditionalGeneration": "Qwen3ForCausalLM",
    "InternS1ProForConditionalGeneration": "Qwen3MoeForCausalLM",
    "OpenPanguVLForConditionalGeneration": "PanguEmbeddedForCausalLM",
    "PixtralForConditionalGeneration": "MistralForCausalLM",
    "VibeVoiceAsrForConditionalGeneration": "Qwen2ForCausalLM",
    "NVILAForConditionalGeneration": "Qwen2ForCausalLM",
    "NVILALiteForConditionalGeneration": "Qwen2ForCausalLM",
    "NVLM_D": "Qwen2ForCausalLM",
    "NemotronH_Omni_Reasoning_V3": "NemotronHForCausalLM",
    "NemotronH_Super_Omni_Reasoning_V3": "NemotronHForCausalLM",
    "OpenCUAForConditionalGeneration": "Qwen2ForCausalLM",
    "OpenVLAForActionPrediction": "LlamaForCausalLM",
    "Ovis": "",
    "Ovis2_5": "Qwen3ForCausalLM",
    "Ovis2_6ForCausalLM": "Qwen3ForCausalLM",
    "Ovis2_6_MoeForCausalLM": "Qwen3MoeForCausalLM",
    "PaddleOCRVLForConditionalGeneration": "Ernie4_5ForCausalLM",
    "PaliGemmaForConditionalGeneration": "GemmaForCausalLM",
    "Phi3VForCausalLM": "Phi3ForCausalLM",
    "Phi4ForCausalLMV": "Phi3ForCausalLM",
    "POINTSV15ChatModel": "Qwen2ForCausalLM",
    "QianfanOCRForConditionalGeneration": "Qwen3ForCausalLM",
    "Qwen2AudioForConditionalGeneration": "Qwen2ForCausalLM",
    "Qwen2VLForConditionalGeneration": "Qwen2ForCausalLM",
    "Qwen2_5OmniForConditionalGeneration": "Qwen2ForCausalLM",
    "Qwen2_5OmniModel": "Qwen2ForCausalLM",
    "Qwen3ASRForConditionalGeneration": "Qwen3ForCausalLM",
    "Qwen3ASRRealtimeGeneration": "Qwen3ForCausalLM",
    "Sarashina2VisionForCausalLM": "LlamaForCausalLM",
    "SkyworkR1VChatModel": "Qwen2ForCausalLM",
    "StepVLForConditionalGeneration": "Qwen3ForCausalLM",
    "UltravoxModel": "LlamaForCausalLM",
    "VoxtralForConditionalGeneration": "LlamaForCausalLM",
    "YiVLForCausalLM": "LlamaForCausalLM",
}
"""Wrapper -> its decoder where the nested config names none; '' where it always does."""
_IMAGE_PREFIX = {"PaliGemmaForConditionalGeneration", "BagelForConditionalGeneration", "Molmo2ForConditionalGeneration", "Moondream3ForCausalLM"}
"""Image tokens attend both ways (vLLM 0.33.0 is_mm_prefix_lm)."""
_BY_VERSION = {
    "2.0": "MiniCPMForCausalLM",
    "2": "MiniCPMForCausalLM",
    "2.5": "LlamaForCausalLM",
    "2.6": "Qwen2ForCausalLM",
    "4": "LlamaForCausalLM",
    "4.0": "LlamaForCausalLM",
    "4.5": "Qwen3ForCausalLM",
}
"""MiniCPM-V and -o: the config's `version` decides (vLLM 0.33.0 minicpmv, _SUPPORT_VERSION)."""
ARCHITECTURES = frozenset(_DECODERS)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    text = text_of(fields)
    base = decoder_of(text, fields) or _DECODERS[name] or _versioned(fields)
    reader = reader_of(base) if base else None
    if reader is None:
        text.unknown("model_type", msg("the decoder inside this model is not known here; it is read like Llama's"))
        base, reader = "LlamaForCausalLM", reader_of("LlamaForCausalLM")
    if base is None or reader is None:
        raise KeyError(base)
    return around(fields, text, files, base, reader)


def around(fields: Fields, text: Fields, files: ModelFiles, base: str, reader: Reader) -> ModelShape:
    """The decoder `base` that `reader` finds in `text`, with whatever encoders stand around it."""
    text.note("model_type", msg("the decoder is that of {name}", name=base), text.raw.get("model_type") or base)
    _inherit(text, fields)
    if files.config["architectures"][0] in _IMAGE_PREFIX:
        text.without("use_bidirectional_attention")  # says the same of the prefix; what is generated sees backwards only
    inner = reader(text, replace(files, config={**text.raw, "architectures": [base]}))
    prefix = "" if text is fields else "language_model."
    weights = tuple(replace(weight, path=prefix + weight.path) for weight in inner.weights) if prefix else inner.weights
    eyes, more, modalities = wrapped_towers.read(fields, files, inner.hidden)
    return replace(
        inner,
        architecture=files.config["architectures"][0],
        model_type=str(fields.raw.get("model_type") or ""),
        dialect="wrapped",
        weights=(*weights, *more),
        towers=(*inner.towers, *eyes),
        modalities=tuple(dict.fromkeys((*inner.modalities, *modalities))),
        remote_code=isinstance(fields.raw.get("auto_map"), dict),
        image_prefix=inner.image_prefix or (bool(eyes) and files.config["architectures"][0] in _IMAGE_PREFIX),
    )


def decoder_of(text: Fields, fields: Fields) -> str | None:
    """The decoder's class by the nested config's own words: `architectures`, then `model_type`; None where it names none."""
    if text is fields:
        return None
    listed: object = text.raw.get("architectures")
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    first = names[0] if names else None
    word: object = text.raw.get("model_type")
    found = first if isinstance(first, str) and first not in ARCHITECTURES and reader_of(first) is not None else None
    found = found or (BY_MODEL_TYPE.get(word) if isinstance(word, str) else None)
    if found == "DeepseekV2ForCausalLM" and (text.raw.get("use_mla") is False or text.raw.get("kv_lora_rank") is None):
        text.note("use_mla", msg("no latent attention: rows of K and V heads"), False)
        return "DeepseekForCausalLM"
    return found


def _versioned(fields: Fields) -> str | None:
    """The decoder that `version` stands for; MiniCPM-o without one is built on Qwen2."""
    version = fields.raw.get("version")
    if isinstance(version, bool) or not isinstance(version, int | float | str):
        return "Qwen2ForCausalLM" if fields.raw.get("model_type") == "minicpmo" else None
    fields.note("version", msg("this version is built on {name}", name=_BY_VERSION.get(str(version), "?")), version)
    return _BY_VERSION.get(str(version))


def _inherit(text: Fields, fields: Fields) -> None:
    """What stands outside counts for the decoder where it is silent."""
    if text is fields:
        return
    fields.ignore(
        "architectures",
        "model_type",
        "auto_map",
        "tie_word_embeddings",
        "quantization_config",
        "transformers_version",
        "ignore_index",
        "chunk_size_feed_forward",
    )
    for key in ("tie_word_embeddings", "dtype", "torch_dtype", "vocab_size"):
        if text.raw.get(key) is None and fields.raw.get(key) is not None and not (key.endswith("dtype") and "dtype" in text.raw):
            text.substitute(key, fields.raw[key])
