"""Beam and Flint: Qwen3's attention with a gate (Beam) or sinks (Flint), windows in most layers, dense layers in front."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import SANDWICH, Style, biased, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import layer_count
from serveright.types.model import Attention, ModelShape, Weight
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"BeamForCausalLM", "FlintForCausalLM"})
_BEAM = Style(
    dialect="beam",
    defaults=Defaults(source="transformers 5.24 BeamConfig", window=512, head_dim=128),
    qk_norm="head",
    gate="full",
    gate_name="gate_proj",
    norms=SANDWICH,
    names=FfnNames(router_bias="gate.e_score_correction_bias"),
)
_FLINT = Style(
    dialect="beam",
    defaults=Defaults(source="transformers 5.24 FlintConfig", window=513, head_dim=128),
    qk_norm="head",
    sinks=frozenset({"full", "sliding"}),
    names=FfnNames(shared="shared_expert", shared_gate="shared_expert_gate"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    count = layer_count(fields)
    if files.config["architectures"][0] == "BeamForCausalLM":
        source = _BEAM.defaults.source
        fields.default("layer_types", ["full_attention" if (i + 1) % 6 == 0 or i == count - 1 else "sliding_attention" for i in range(count)], source)
        fields.default("mlp_layer_types", ["dense" if i < 3 else "sparse" for i in range(count)], source)
        found = build(fields, files, biased(fields, _BEAM))
        return replace(found, weights=found.weights + tuple(_gate_bias(found)))
    source = _FLINT.defaults.source
    fields.default("layer_types", ["full_attention" if i < 2 or i % 4 == 1 or i == count - 1 else "sliding_attention" for i in range(count)], source)
    fields.default("mlp_only_layers", [0, 1], source)
    return build(fields, files, biased(fields, _FLINT))


def _gate_bias(found: ModelShape) -> list[Weight]:
    """One number per head beside Beam's gate."""
    return [
        Weight(
            path=f"model.layers.{layer.index}.self_attn.gate_bias",
            part="attention",
            shape=(mixer.query_heads,),
            shard="q_heads",
            units=mixer.query_heads,
            linear=False,
            layer=layer.index,
        )
        for layer in found.layers
        for mixer in layer.mixers
        if isinstance(mixer, Attention)
    ]
