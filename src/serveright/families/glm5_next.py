"""GLM-5.3-Flash (glm5_next): Kimi delta attention, latent attention with an indexer over pooled keys, hyper-connections."""

from msgspec import Struct

from serveright.families import ffn as feed
from serveright.families import hybrid, latent, next_towers, recurrent
from serveright.families.blocks import linear, norm
from serveright.families.deepseek import joint, prediction_layers
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Ffn, Latent, Layer, Mixer, ModelShape, Recurrent, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Glm5NextForConditionalGeneration", "Glm5NextForCausalLM"})


class _Plan(Struct, frozen=True, kw_only=True):
    frame: Frame
    names: feed.FfnNames
    streams: int


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.language_model.")
    text = frame.text
    count = layer_count(text, "layer_types")
    found = hybrid.mixers(text, frame.hidden, count, source="transformers 5.16 Glm5NextTextConfig")
    streams = (text.opt_int("hc_mult") or 1) if text.flag("mhc", default=True) else 1
    if streams > 1:
        text.note("hc_mult", msg("hyper-connections: {count} copies of the residual stream", count=streams))
    text.ignore("index_kpool_always_select_tail", "hc_sinkhorn_iters")
    bias = "gate.e_score_correction_bias" if text.text("topk_method") in (None, "noaux_tc") else None
    plan = _Plan(frame=frame, names=feed.FfnNames(router_bias=bias), streams=streams)
    ffns = feed.plan(text, count)
    blocks = [_block(plan, i, found[i], ffns[i]) for i in range(count)]
    mtp: list[Block] = []
    last = next((layer for layer in reversed(found) if isinstance(layer[0], Latent)), ())
    for i in range(count, count + prediction_layers(text)):
        block = _block(plan, i, last, ffns[-1], mtp=True)
        block.weights += joint(f"{frame.root}layers.{i}", i, frame.hidden, frame.vocab, copies=False)
        mtp.append(block)
    towers: tuple[Tower, ...] = ()
    eyes: list[Weight] = []
    vision = fields.child("vision_config")
    if vision is not None:
        fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
        tower, eyes = next_towers.glm5_next(vision, files, "model.visual")
        towers = (tower,)
    return close_frame(
        frame,
        files,
        dialect="glm5_next",
        blocks=blocks,
        mtp=mtp,
        extra=edges(frame) + eyes,
        towers=towers,
        modalities=("text", "image", "video") if towers else ("text",),
        streams=streams,
    )


def _block(plan: _Plan, i: int, mixers: tuple[Mixer, ...], ffn: Ffn, *, mtp: bool = False) -> Block:
    path, hidden = f"{plan.frame.root}layers.{i}", plan.frame.hidden
    weights = [*norm(f"{path}.input_layernorm", hidden, layer=i), *norm(f"{path}.post_attention_layernorm", hidden, layer=i)]
    for mixer in mixers:
        if isinstance(mixer, Recurrent):
            weights += recurrent.kda_weights(f"{path}.self_attn", i, hidden, mixer, full_gate=False)
        elif isinstance(mixer, Latent):
            weights += latent.weights(f"{path}.self_attn", i, hidden, mixer)
            weights += _pool(f"{path}.self_attn.indexer", i, hidden, mixer)
    weights += feed.weights(path, i, hidden, ffn, plan.names)
    if plan.streams > 1 and not mtp:
        mix, wide = (2 + plan.streams) * plan.streams, plan.streams * hidden
        for name in ("attn", "ffn"):
            for word, sides in (("fn", (mix, wide)), ("base", (mix,)), ("scale", (3,))):
                weights.append(Weight(path=f"{path}.hc_{name}_{word}", part="residual", shape=sides, shard="replicated", linear=False, layer=i))
    return Block(layer=Layer(index=i, mixers=mixers, ffns=(ffn,)), weights=weights)


def _pool(path: str, i: int, hidden: int, mixer: Latent) -> list[Weight]:
    """What pools index keys: a weight per position and a gate from the hidden state."""
    indexer = mixer.indexer
    if indexer is None or not indexer.owns_keys or indexer.compress_ratio == 1:
        return []
    table = Weight(
        path=f"{path}.index_kpool_compress_ape", part="indexer", shape=(indexer.compress_ratio, indexer.dim), shard="replicated", linear=False, layer=i
    )
    return [table, *linear(f"{path}.index_kpool_compress_gate", "indexer", indexer.dim, hidden, "replicated", layer=i)]
