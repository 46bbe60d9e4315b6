"""Hunyuan Hy4: latent attention with an indexer, an output gate, sinks, and hyper-connections with one gate per stream."""

from serveright.families import deepseek, latent, next_towers
from serveright.families.fields import Fields
from serveright.families.frame import open_frame, text_of
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"HYV4ForCausalLM", "HYV4VLForConditionalGeneration"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.language_model.")
    text, hidden = frame.text, frame.hidden
    streams = (text.opt_int("hc_mult") or 1) if text.flag("enable_ihc", default=True) else 1
    gated, sinks = text.flag("gated_mla", default=True), text.flag("learnable_sink", default=True)
    per_head = text.text("gating_type") == "headwise"
    text.ignore("hc_magnitude", "hc_eps", "learnable_sink_init", "enable_lm_head_fp32", "use_mla", "use_dsa")
    if gated:
        text.note("gated_mla", msg("the output of attention is gated"))
    if sinks:
        text.note("learnable_sink", msg("each head has a learned sink"))
    if streams > 1:
        text.note("hc_mult", msg("hyper-connections: {count} copies of the residual stream", count=streams))

    def around(path: str, i: int) -> list[Weight]:
        return [w for name in ("hc_attn_layer", "hc_mlp_layer") for w in _mix(f"{path}.{name}.hc", i, 2 * streams, streams * hidden, 2)]

    head = tuple(_mix(f"{frame.root}hc_head.hc_head", None, streams, streams * hidden, 1)) if streams > 1 else ()
    parts = deepseek.Parts(
        attn=latent.Names(gate="linear_gate" if gated else None, gate_per_head=per_head, sink="learnable_sink_param"),
        sinks=sinks,
        router_bias="expert_bias",
        around=around if streams > 1 else None,
        streams=streams,
        last_norm="final_layernorm",
        extra=head,
        listed=True,
    )
    vision, eyes = fields.child("vision_config"), deepseek.NO_TOWERS
    if vision is not None:
        fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
        tower, seen = next_towers.hy4(vision, files, "model.vision_tower")
        eyes = ((tower,), seen, ("image", "video"))
    return deepseek.decoder(frame, files, dialect="hy4", eyes=eyes, parts=parts)


def _mix(path: str, layer: int | None, out: int, into: int, scales: int) -> list[Weight]:
    sides = (("fn", (out, into)), ("base", (out,)), ("scale", (scales,)))
    return [Weight(path=f"{path}_{name}", part="residual", shape=side, shard="replicated", linear=False, layer=layer) for name, side in sides]
