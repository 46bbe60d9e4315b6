"""Apertus: norms of its own names, an MLP without a gate whose activation has two learned numbers."""

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"ApertusForCausalLM", "Apertus1p5TextForCausalLM", "Apertus1p5ForCausalLM", "Apertus1p5ForConditionalGeneration"})
_STYLE = Style(
    dialect="apertus",
    defaults=Defaults(source="transformers 5.24 ApertusConfig"),
    qk_norm="head",
    gated=False,
    norms=("attention_layernorm", "feedforward_layernorm"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    found = build(fields, files, biased(text, _STYLE if text.flag("qk_norm", default=True) else replace(_STYLE, qk_norm="none")))
    root = "model." if text is fields else _STYLE.nested_root
    modalities: list[str] = []
    for key, word in (("vision_config", "image"), ("audio_config", "audio")):
        if isinstance(fields.raw.get(key), dict):
            towers.unread(fields, key)
            fields.unknown(key, msg("this encoder's weights cannot be derived from its config; they are not counted"))
            modalities.append(word)
    extra = tuple(
        Weight(path=f"{root}layers.{layer.index}.mlp.act_fn.{name}", part="other", shape=(1,), shard="replicated", linear=False, layer=layer.index)
        for layer in found.layers
        for name in ("alpha_p", "alpha_n")
    )
    return replace(found, weights=found.weights + extra, modalities=("text", *modalities))
