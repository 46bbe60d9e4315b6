"""Nemotron-NAS and Puzzle: every layer described on its own in `block_configs`, down to layers without attention or without an MLP."""

from typing import Any, cast

from serveright.families import ffn as feed
from serveright.families.attention import Defaults, base_heads
from serveright.families.blocks import linear, norm
from serveright.families.decoder import Style, attention_weights, biased, borders, start
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, text_of
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"DeciLMForCausalLM"})
_STYLE = Style(dialect="decilm", defaults=Defaults(source="vLLM 0.33.0 DeciLMForCausalLM"))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    style = biased(text, _STYLE)
    frame = start(fields, style, text)
    return close_frame(frame, files, dialect="decilm", blocks=read_blocks(frame, style), extra=borders(frame, style))


def read_blocks(frame: Frame, style: Style) -> list[Block]:
    """One block a `block_configs` entry."""
    text = frame.text
    count = text.integer("num_hidden_layers")
    entries = text.items("block_configs", length=min(count, 4096)) or []
    text.ignore("num_key_value_heads", "num_key_value_heads_per_layer", "intermediate_size")
    blocks = [_block(frame, style, index, _entry(text, index, entry)) for index, entry in enumerate(entries)]
    bare = sum(not block.layer.mixers for block in blocks)
    idle = sum(not block.layer.ffns for block in blocks)
    text.note(
        "block_configs",
        msg("every layer on its own: {bare} of {count} have no attention (and no cache), {idle} no MLP", bare=bare, idle=idle, count=len(blocks)),
        "…",
    )
    return blocks


def _entry(text: Fields, index: int, entry: object) -> Fields:
    path = text.at(f"block_configs[{index}]")
    if isinstance(entry, dict):
        return Fields(cast("dict[str, Any]", entry), path)
    text.unknown(f"block_configs[{index}]", msg("not an object; the layer is counted as empty"))
    return Fields({}, path)


def _block(frame: Frame, style: Style, index: int, entry: Fields) -> Block:
    path = f"{frame.root}layers.{index}"
    weights: list[Weight] = []
    attention, linear_instead = _attention(frame, entry.child("attention"))
    if attention:
        weights += norm(f"{path}.input_layernorm", frame.hidden, layer=index) + attention_weights(style, f"{path}.self_attn", index, frame.hidden, attention)
    elif linear_instead:
        weights += norm(f"{path}.input_layernorm", frame.hidden, layer=index)
        weights += linear(f"{path}.self_attn.linear_attn", "attention", frame.hidden, frame.hidden, "replicated", layer=index)
    ffn, linear_instead = _ffn(frame, entry.child("ffn"))
    if ffn:
        weights += norm(f"{path}.post_attention_layernorm", frame.hidden, layer=index) + feed.weights(path, index, frame.hidden, ffn, style.names)
    elif linear_instead:
        weights += norm(f"{path}.post_attention_layernorm", frame.hidden, layer=index)
        weights += linear(f"{path}.mlp.linear_mlp", "mlp", frame.hidden, frame.hidden, "replicated", layer=index)
    return Block(layer=Layer(index=index, mixers=(attention,) if attention else (), ffns=(ffn,) if ffn else ()), weights=weights)


def _attention(frame: Frame, entry: Fields | None) -> tuple[Attention | None, bool]:
    """The layer's attention, or whether a plain linear stands in its place."""
    if entry is None or entry.flag("no_op"):
        return None, False
    if entry.flag("replace_with_linear"):
        return None, True
    quiet = Fields(frame.text.raw, frame.text.path)
    query = base_heads(quiet, frame.hidden, Defaults(source=""), None).query
    frame.text.ignore("num_attention_heads", "head_dim")
    dim = frame.text.opt_int("head_dim", minimum=1) or max(1, frame.hidden // query)
    group = entry.opt_int("n_heads_in_group", minimum=1)
    kv = entry.opt_int("num_key_value_heads", minimum=1) or (max(1, query // group) if group else query)
    window = entry.opt_int("window_length", "sliding_window", minimum=1)
    return Attention(kind="sliding" if window else "full", query_heads=query, kv_heads=kv, head_dim=dim, v_head_dim=dim, window_tokens=window), False


def _ffn(frame: Frame, entry: Fields | None) -> tuple[Ffn | None, bool]:
    """The layer's MLP, or whether a plain linear stands in its place. A factor means 2/3 of it times the hidden size, rounded up to 256."""
    if entry is None or entry.flag("no_op"):
        return None, False
    if entry.flag("replace_with_linear"):
        return None, True
    width = entry.opt_int("intermediate_size", minimum=1)
    if width is None:
        factor = entry.number("ffn_mult")
        width = -(-int(2 * factor * frame.hidden / 3) // 256) * 256
    return Ffn(kind="dense", intermediate=width), False
