"""The layout of a language model inside a vision model, by the `model_type` of its own nested config."""

from msgspec.structs import replace

from serveright.families import gpt_oss, qwen
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased
from serveright.families.fields import Fields
from serveright.types.text import msg


def style_of(text: Fields, dialect: str) -> Style:
    """Style for the decoders that vision models are built on; any other is read like Llama and reported."""
    word = text.text("model_type") or ""
    if word in ("qwen2", "qwen2_moe"):
        return replace(qwen.qwen2(text), dialect=dialect)
    if word in ("qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text"):
        return replace(qwen.qwen3(text), dialect=dialect)
    if word == "gpt_oss":
        return replace(gpt_oss.STYLE, dialect=dialect)
    if word not in ("llama", "mistral", "ministral3", ""):
        text.unknown("model_type", msg("the layout of {name} inside this model is not known here; it is read like Llama's", name=word))
    window_all = word in ("mistral", "ministral3")
    return biased(text, Style(dialect=dialect, defaults=Defaults(source=f"transformers 5.24 {word or 'llama'} config", window_all=window_all)))
