"""OLMo Hybrid: gated delta layers with norms before the blocks, full attention layers with norms behind them."""

from serveright.families import ffn as feed
from serveright.families import recurrent
from serveright.families.attention import Defaults, base_heads
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.qwen_hybrid import FULL, layer_words
from serveright.types.model import Attention, Layer, Mixer, ModelShape, Recurrent, Weight
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"OlmoHybridForCausalLM"})
_SOURCE = "transformers 5.24 OlmoHybridConfig"


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields))
    text = frame.text
    count = layer_count(text, "layer_types")
    heads = base_heads(text, frame.hidden, Defaults(source=_SOURCE))
    full = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim)
    text.default("linear_num_key_heads", heads.query, _SOURCE)
    text.default("linear_num_value_heads", heads.query, _SOURCE)
    text.default("linear_key_head_dim", int(0.75 * frame.hidden / text.integer("linear_num_key_heads")), _SOURCE)
    text.default("linear_value_head_dim", 2 * text.integer("linear_key_head_dim"), _SOURCE)
    delta = recurrent.read_gated_delta(text, kernel=(4, _SOURCE))
    text.ignore("linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max", "linear_dt_init_floor", "linear_allow_neg_eigval", "linear_use_gate")
    ffns = feed.plan(text, count)
    blocks: list[Block] = []
    for i, word in enumerate(layer_words(text, count)):
        path, plain = f"{frame.root}layers.{i}", word in FULL
        mixer: Mixer = full if plain else delta
        norms = ("post_attention_layernorm", "post_feedforward_layernorm") if plain else ("input_layernorm", "post_attention_layernorm")
        weights = [w for name in norms for w in norm(f"{path}.{name}", frame.hidden, layer=i)]
        weights += _full(f"{path}.self_attn", i, frame.hidden, full) if plain else _delta(f"{path}.linear_attn", i, frame.hidden, delta)
        weights += feed.weights(path, i, frame.hidden, ffns[i], feed.FfnNames())
        blocks.append(Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffns[i],)), weights=weights))
    return close_frame(frame, files, dialect="olmo_hybrid", blocks=blocks, extra=edges(frame))


def _full(path: str, i: int, hidden: int, m: Attention) -> list[Weight]:
    """q and k are normed over all heads."""
    norms = [*norm(f"{path}.q_norm", m.query_heads * m.head_dim, layer=i), *norm(f"{path}.k_norm", m.kv_heads * m.head_dim, layer=i)]
    return [*gqa(path, i, hidden, m.query_heads, m.kv_heads, m.head_dim), *norms]


def _delta(path: str, i: int, hidden: int, m: Recurrent) -> list[Weight]:
    """Separate projections and convolutions for q, k and v; an output gate as wide as the values."""
    keys, values = m.groups * m.key_dim, m.state_heads * m.value_dim
    sizes = (("q", keys, m.groups), ("k", keys, m.groups), ("v", values, m.state_heads))
    weights = [w for name, width, units in sizes for w in linear(f"{path}.{name}_proj", "recurrent", width, hidden, "q_heads", layer=i, units=units)]
    weights += [
        Weight(path=f"{path}.{name}_conv1d", part="recurrent", shape=(width, 1, m.conv_rows + 1), shard="q_heads", units=units, linear=False, layer=i)
        for name, width, units in sizes
    ]
    for name, width in (("a_proj", m.state_heads), ("b_proj", m.state_heads), ("g_proj", values)):
        weights += linear(f"{path}.{name}", "recurrent", width, hidden, "q_heads", layer=i, units=m.state_heads)
    for name in ("A_log", "dt_bias"):
        weights.append(Weight(path=f"{path}.{name}", part="recurrent", shape=(m.state_heads,), shard="q_heads", units=m.state_heads, linear=False, layer=i))
    weights += norm(f"{path}.o_norm", m.value_dim, layer=i)
    return weights + linear(f"{path}.o_proj", "recurrent", hidden, values, "row", layer=i, units=m.state_heads)
