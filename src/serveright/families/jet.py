"""Jet-Nemotron: delta-rule layers with convolutions that depend on the input, sliding and full attention, as `layer_types` and `efficient_attention_config` say."""

from serveright.families import attention
from serveright.families import ffn as feed
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Ffn, Layer, Mixer, ModelShape, Recurrent, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"JetNemotronForCausalLM"})
_SOURCE = "SGLang 0.5.23 JetNemotronConfig"


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields))
    text = frame.text
    count = layer_count(text, "layer_types")
    words = [str(word) for word in text.items("layer_types", length=count) or ["attn"] * count]
    kinds = text.child("efficient_attention_config")
    jet, slide = (kinds.child("jet"), kinds.child("swa")) if kinds else (None, None)
    heads = attention.base_heads(text, frame.hidden, attention.Defaults(source=_SOURCE))
    full = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim)
    known: dict[str, Mixer] = {"attn": full}
    if jet is not None:
        known["jet"] = _delta(jet)
    if slide is not None:
        window = slide.integer("window_size")
        known["swa"] = Attention(kind="sliding", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim, window_tokens=window)
    for word in sorted(set(words) - known.keys()):
        text.unknown("layer_types", msg("the layer type {word} is not known here; its cache cannot be derived", word=word[:40]))
    text.note(
        "layer_types", msg("hybrid: {linear} linear and {full} softmax attention layers", linear=words.count("jet"), full=count - words.count("jet")), "…"
    )
    text.unknown("efficient_attention_config", msg("the small network that makes the convolutions of these layers is not counted"))
    ffns = feed.plan(text, count)
    blocks = [_block(frame, i, known.get(word, UnknownMixer(name=word[:40])), ffns[i]) for i, word in enumerate(words)]
    return close_frame(frame, files, dialect="jet", blocks=blocks, extra=edges(frame))


def _delta(f: Fields) -> Recurrent:
    heads, dim = f.integer("num_heads"), f.integer("head_dim")
    value = int(dim * f.number("expand_v"))
    f.note("num_heads", msg("linear attention: a state of {heads} x {v} x {k} per layer and sequence, whatever the length", heads=heads, v=value, k=dim))
    f.ignore("mode", "norm_eps", "dconv_generator_reduction", "dconv_implementation")
    return Recurrent(
        kind="gated_deltanet",
        state_heads=heads,
        state_shape=(heads, value, dim),
        conv_channels=heads * (value + 2 * dim),
        conv_rows=f.integer("conv_size") - 1,
        groups=heads,
        key_dim=dim,
        value_dim=value,
    )


def _block(frame: Frame, i: int, mixer: Mixer, ffn: Ffn) -> Block:
    path, hidden = f"{frame.root}layers.{i}", frame.hidden
    own: list[Weight] = []
    if isinstance(mixer, Attention):
        own = gqa(f"{path}.self_attn", i, hidden, mixer.query_heads, mixer.kv_heads, mixer.head_dim)
    elif isinstance(mixer, Recurrent):
        keys, values, at = mixer.groups * mixer.key_dim, mixer.state_heads * mixer.value_dim, f"{path}.self_attn"
        sizes = (("q_proj", keys), ("k_proj", keys), ("v_proj", values), ("g_proj", values), ("b_proj", mixer.state_heads), ("a_proj", mixer.state_heads))
        own = [w for name, out in sizes for w in linear(f"{at}.{name}", "recurrent", out, hidden, "q_heads", layer=i, units=mixer.state_heads)]
        own += [
            Weight(path=f"{at}.{name}", part="recurrent", shape=(mixer.state_heads,), shard="column", linear=False, layer=i) for name in ("A_log", "dt_bias")
        ]
        own += [*norm(f"{at}.o_norm", mixer.value_dim, layer=i), *linear(f"{at}.o_proj", "recurrent", hidden, values, "row", layer=i, units=mixer.state_heads)]
    weights = [
        *norm(f"{path}.input_layernorm", hidden, layer=i),
        *own,
        *norm(f"{path}.post_attention_layernorm", hidden, layer=i),
        *feed.weights(path, i, hidden, ffn, feed.FfnNames()),
    ]
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)
