"""Apertus: norms of its own names, an MLP without a gate whose activation has two learned numbers."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build
from serveright.families.fields import Fields
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"ApertusForCausalLM"})
_STYLE = Style(
    dialect="apertus",
    defaults=Defaults(source="transformers 5.24 ApertusConfig"),
    qk_norm="head",
    gated=False,
    norms=("attention_layernorm", "feedforward_layernorm"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    found = build(fields, files, biased(fields, _STYLE if fields.flag("qk_norm", default=True) else replace(_STYLE, qk_norm="none")))
    extra = tuple(
        Weight(path=f"model.layers.{layer.index}.mlp.act_fn.{name}", part="other", shape=(1,), shard="replicated", linear=False, layer=layer.index)
        for layer in found.layers
        for name in ("alpha_p", "alpha_n")
    )
    return replace(found, weights=found.weights + extra)
