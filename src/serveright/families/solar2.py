"""Solar Open 2: Kimi delta attention with a gated GQA layer now and then."""

from serveright.families import attention, recurrent
from serveright.families import ffn as feed
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Recurrent
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"SolarOpen2ForCausalLM"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields))
    text = frame.text
    count = layer_count(text)
    heads = attention.base_heads(text, frame.hidden, attention.Defaults(source="serveright (plain multi-head attention)"))
    full = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim)
    delta = recurrent.read_kda(text, text.child("linear_attn_config"))
    listed = layer_ids(text, "gqa_layers", count) or frozenset()
    if not listed:
        listed = frozenset(range(0, count, text.integer("gqa_interval") + 1))
    text.ignore("gqa_interval", "kda_allow_neg_eigval")
    text.note("gqa_layers", msg("hybrid: {linear} delta attention and {full} GQA layers", linear=count - len(listed), full=len(listed)), sorted(listed))
    gate, full_proj = text.flag("use_gqa_gate"), text.flag("kda_use_full_proj")
    ffns = feed.plan(text, count)
    blocks = [_block(frame, i, full if i in listed else delta, ffns[i], gate, full_proj) for i in range(count)]
    return close_frame(frame, files, dialect="solar2", blocks=blocks, extra=edges(frame))


def _block(frame: Frame, i: int, mixer: Attention | Recurrent, ffn: Ffn, gate: bool, full_proj: bool) -> Block:
    path, hidden = f"{frame.root}layers.{i}", frame.hidden
    if isinstance(mixer, Attention):
        own = gqa(f"{path}.self_attn", i, hidden, mixer.query_heads, mixer.kv_heads, mixer.head_dim)
        if gate:
            own += linear(f"{path}.self_attn.g_proj", "attention", mixer.query_heads * mixer.head_dim, hidden, "q_heads", layer=i, units=mixer.query_heads)
    else:
        own = recurrent.kda_weights(f"{path}.self_attn", i, hidden, mixer, full_gate=full_proj, full_decay=full_proj)
    weights = [
        *norm(f"{path}.input_layernorm", hidden, layer=i),
        *own,
        *norm(f"{path}.post_attention_layernorm", hidden, layer=i),
        *feed.weights(path, i, hidden, ffn, feed.FfnNames(router_bias="gate.e_score_correction_bias")),
    ]
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)
