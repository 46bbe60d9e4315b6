"""Softmax-attention decoders: fields -> layers and weights, for every dialect that differs only in names and small parts (`Style`)."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from serveright.families import ffn as feed
from serveright.families import overrides
from serveright.families.attention import Defaults, attention_layers
from serveright.families.blocks import fused_qkv, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame
from serveright.types.model import Attention, Ffn, Layer, Mixer, ModelShape, Tower, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

LLAMA_NORMS = ("input_layernorm", "post_attention_layernorm")
SANDWICH = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


class Style(Struct, frozen=True, kw_only=True):
    """What a model's class decides without saying so in the config: module names, biases, norms, gates."""

    dialect: str
    defaults: Defaults
    root: str = "model."
    nested_root: str = "model.language_model."
    head: str = "lm_head"
    nested_head: str = "lm_head"
    embed: str = "embed_tokens"
    stem: str = "layers"
    """What the list of layers is called."""
    final_norm: str = "norm"
    tied: bool = False
    attn: str = "self_attn"
    qkv_bias: bool = False
    out_bias: bool = False
    fused_qkv: str | None = None
    out: str = "o_proj"
    qk_norm: Literal["none", "head", "full", "heads"] = "none"
    """One scale per head dimension (`head`), over all heads (`full`, `heads`: the same width, q and k apart)."""
    qk_names: tuple[str, str] = ("q_norm", "k_norm")
    gate: Literal["none", "head", "full"] = "none"
    """An output gate of one number per head or one per channel."""
    gate_name: str = "g_proj"
    sinks: frozenset[str] = frozenset()
    sink_name: str = "sinks"
    norms: tuple[str, ...] = LLAMA_NORMS
    norm_bias: bool = False
    final_norm_bias: bool = False
    names: feed.FfnNames = feed.FfnNames()
    gated: bool = True
    dense_keys: tuple[str, ...] = feed.DENSE_WIDTH
    width_keys: tuple[str, ...] = feed.WIDTH


def attention_weights(style: Style, path: str, index: int, hidden: int, mixer: Attention) -> list[Weight]:
    """Every tensor of one attention block at `path` (e.g. `model.layers.3.self_attn`)."""
    heads, kv, dim, v_dim = mixer.query_heads, mixer.kv_heads, mixer.head_dim, mixer.v_head_dim
    if style.fused_qkv:
        weights = fused_qkv(f"{path}.{style.fused_qkv}", index, hidden, heads, kv, dim, v_dim, bias=style.qkv_bias)
    else:
        weights = linear(f"{path}.q_proj", "attention", heads * dim, hidden, "q_heads", layer=index, units=heads, bias=style.qkv_bias)
        weights += linear(f"{path}.k_proj", "attention", kv * dim, hidden, "kv_heads", layer=index, units=kv, bias=style.qkv_bias)
        weights += linear(f"{path}.v_proj", "attention", kv * v_dim, hidden, "kv_heads", layer=index, units=kv, bias=style.qkv_bias)
    weights += linear(f"{path}.{style.out}", "attention", hidden, heads * v_dim, "row", layer=index, units=heads, bias=style.out_bias)
    if style.qk_norm != "none":
        widths = (dim, dim) if style.qk_norm == "head" else (heads * dim, kv * dim)
        for name, width in zip(style.qk_names, widths, strict=True):
            weights += norm(f"{path}.{name}", width, layer=index)
    if style.gate != "none":
        width = heads if style.gate == "head" else heads * v_dim
        weights += linear(f"{path}.{style.gate_name}", "attention", width, hidden, "q_heads", layer=index, units=heads)
    if mixer.sinks:
        weights.append(Weight(path=f"{path}.{style.sink_name}", part="attention", shape=(heads,), shard="q_heads", units=heads, linear=False, layer=index))
    return weights


def block(style: Style, path: str, index: int, hidden: int, mixer: Mixer, ffn: Ffn) -> Block:
    """One layer and its tensors at `path` (e.g. `model.layers.3`)."""
    weights = [w for name in style.norms for w in norm(f"{path}.{name}", hidden, layer=index, bias=style.norm_bias)]
    if isinstance(mixer, Attention):
        weights += attention_weights(style, f"{path}.{style.attn}", index, hidden, mixer)
    weights += feed.weights(path, index, hidden, ffn, style.names)
    return Block(layer=Layer(index=index, mixers=(mixer,), ffns=(ffn,)), weights=weights)


def mixers(frame: Frame, count: int, style: Style, *, own: bool = True) -> list[Mixer]:
    """One mixer a layer; a kind of layer that is no softmax attention becomes an UnknownMixer and is reported."""
    found: list[Mixer] = []
    for index, mixer in enumerate(attention_layers(frame.text, count, frame.hidden, style.defaults, sinks=style.sinks)):
        if isinstance(mixer, str):
            frame.text.unknown(f"layer_types[{index}]", msg("the layer type {word} is not known here; its cache cannot be derived", word=mixer))
            found.append(UnknownMixer(name=mixer))
        else:
            found.append(mixer)
    return [layer[0] for layer in overrides.apply(frame.text, [(mixer,) for mixer in found])] if own else found


def start(fields: Fields, style: Style, text: Fields | None = None) -> Frame:
    """The frame under this style's prefixes."""
    return open_frame(fields, text, root=style.root, nested_root=style.nested_root, head=style.head, nested_head=style.nested_head, tied=style.tied)


def blocks(frame: Frame, style: Style, found: list[Mixer] | None = None) -> list[Block]:
    """All layers in order."""
    count = layer_count(frame.text, "layer_types", "hybrid_layer_pattern")
    found = found or mixers(frame, count, style)
    ffns = feed.plan(frame.text, count, dense_keys=style.dense_keys, width_keys=style.width_keys, gated=style.gated)
    return [block(style, f"{frame.root}{style.stem}.{i}", i, frame.hidden, mixer, ffn) for i, (mixer, ffn) in enumerate(zip(found, ffns, strict=True))]


def borders(frame: Frame, style: Style) -> list[Weight]:
    """Input table, final norm and head."""
    weights = edges(frame, embed=style.embed, final=style.final_norm)
    if style.final_norm_bias:
        weights.append(Weight(path=f"{frame.root}{style.final_norm}.bias", part="norm", shape=(frame.hidden,), shard="replicated", linear=False))
    return weights


Towers = tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]
"""Towers, their tensors, and the modalities they add."""


def build(
    fields: Fields,
    files: ModelFiles,
    style: Style,
    *,
    towers: Callable[[Frame], Towers] | None = None,
    mtp: Callable[[Frame, list[Block]], list[Block]] | None = None,
    mtp_layers: int | None = None,
) -> ModelShape:
    """The whole model in one style."""
    frame = start(fields, style)
    layers = blocks(frame, style)
    eyes, tower_weights, modalities = towers(frame) if towers else ((), [], ())
    return close_frame(
        frame,
        files,
        dialect=style.dialect,
        blocks=layers,
        mtp=mtp(frame, layers) if mtp else None,
        mtp_layers=mtp_layers,
        extra=borders(frame, style) + tower_weights,
        towers=eyes,
        modalities=("text", *modalities),
    )


def biased(fields: Fields, style: Style, *, out: bool = True) -> Style:
    """`attention_bias` of the config, on the output projection too where the class does that (`out`)."""
    bias = fields.flag("attention_bias", "qkv_bias", "use_qkv_bias", "use_bias", default=style.qkv_bias)
    names = replace(style.names, dense_bias=True) if fields.flag("mlp_bias") else style.names
    return replace(style, qkv_bias=bias, out_bias=bias and out, names=names)


def headless(shape: ModelShape) -> ModelShape:
    """The same model saved without its head, for embeddings: the bare `...Model` classes."""
    return replace(shape, weights=tuple(weight for weight in shape.weights if weight.part != "head"))


def bidirectional(shape: ModelShape) -> ModelShape:
    """The same model with every token seeing every other: an encoder that keeps no cache."""
    layers = tuple(
        replace(layer, mixers=tuple(replace(mixer, causal=False) if isinstance(mixer, Attention) else mixer for mixer in layer.mixers))
        for layer in shape.layers
    )
    return replace(shape, layers=layers, causal=False)
