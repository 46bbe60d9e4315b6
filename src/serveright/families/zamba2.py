"""Zamba2: a Mamba-2 mixer in every layer; in some, a transformer block whose weights a few blocks share works on the hidden state beside the first input, with small adapters of its own."""

from serveright.families import recurrent
from serveright.families.attention import Defaults, base_heads
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Zamba2ForCausalLM"})
_SOURCE = "transformers 5.24 Zamba2Config"


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), tied=True)
    text, hidden = frame.text, frame.hidden
    count = layer_count(text, "layers_block_type")
    words = _words(text, count)
    mamba = recurrent.read_mamba2(text, hidden)
    text.default("attention_head_dim", 2 * hidden // text.integer("num_attention_heads"), _SOURCE)
    heads = base_heads(text, hidden, Defaults(source=_SOURCE))
    attention = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.dim)
    ffn = Ffn(kind="dense", intermediate=text.int_or(4 * hidden, _SOURCE, "intermediate_size", minimum=1))
    shared = [index for index, word in enumerate(words) if word == "hybrid"]
    text.ignore("attention_hidden_size", "kv_channels", "num_query_groups", "hybrid_layer_ids", "use_mem_rope", "num_logits_to_keep")
    blocks: list[Block] = []
    for i, word in enumerate(words):
        path = f"{frame.root}layers.{i}"
        if word != "hybrid":
            weights = [*norm(f"{path}.input_layernorm", hidden, layer=i), *recurrent.mamba2_weights(f"{path}.mamba", i, hidden, mamba)]
            blocks.append(Block(layer=Layer(index=i, mixers=(mamba,)), weights=weights))
            continue
        weights = [
            *linear(f"{path}.linear", "other", hidden, hidden, "replicated", layer=i),
            *norm(f"{path}.mamba_decoder.input_layernorm", hidden, layer=i),
            *recurrent.mamba2_weights(f"{path}.mamba_decoder.mamba", i, hidden, mamba),
        ]
        blocks.append(Block(layer=Layer(index=i, mixers=(mamba, attention), ffns=(ffn,)), weights=weights))
    return close_frame(
        frame, files, dialect="zamba2", blocks=blocks, extra=[*edges(frame, final="final_layernorm"), *_transformers(frame, shared, attention, ffn)]
    )


def _words(text: Fields, count: int) -> list[str]:
    """`layers_block_type`, or the numbers of the hybrid layers."""
    listed = text.items("layers_block_type", length=count)
    ids = layer_ids(text, "hybrid_layer_ids", count) or frozenset()
    words = [str(word) for word in listed] if listed else ["hybrid" if i in ids else "mamba" for i in range(count)]
    text.note("layers_block_type", msg("{full} of {count} layers also hold attention and an MLP", full=words.count("hybrid"), count=count), "…")
    return words


def _transformers(frame: Frame, shared: list[int], m: Attention, ffn: Ffn) -> list[Weight]:
    """The blocks that take turns in the hybrid layers, stored once, each with one adapter for every hybrid layer it serves."""
    text, hidden = frame.text, frame.hidden
    blocks = text.int_or(1, _SOURCE, "num_mem_blocks", minimum=1)
    text.note(
        "num_mem_blocks", msg("{blocks} transformer blocks take turns in {layers} layers; their weights are stored once", blocks=blocks, layers=len(shared))
    )
    rank = text.int_or(128, _SOURCE, "adapter_rank", minimum=1)
    adapted = text.flag("use_shared_attention_adapter")
    wide, inner = 2 * hidden, m.query_heads * m.head_dim
    found: list[Weight] = []
    for number, layer in enumerate(shared[:blocks]):
        path = f"{frame.root}layers.{layer}.shared_transformer"
        for name, heads in (("q_proj", m.query_heads), ("k_proj", m.kv_heads), ("v_proj", m.kv_heads)):
            found += linear(f"{path}.self_attn.{name}", "attention", heads * m.head_dim, wide, "q_heads", layer=layer, units=heads)
        found += linear(f"{path}.self_attn.o_proj", "attention", hidden, inner, "row", layer=layer, units=m.query_heads)
        found += linear(f"{path}.feed_forward.gate_up_proj", "mlp", 2 * ffn.intermediate, hidden, "column", layer=layer)
        found += linear(f"{path}.feed_forward.down_proj", "mlp", hidden, ffn.intermediate, "row", layer=layer)
        found += norm(f"{path}.input_layernorm", wide, layer=layer) + norm(f"{path}.pre_ff_layernorm", hidden, layer=layer)
        for turn in range(number, len(shared), blocks):
            found += _adapter(f"{path}.feed_forward.gate_up_proj_adapter_list.{turn}", layer, rank, hidden, 2 * ffn.intermediate)
            for name in ("q", "k", "v") if adapted else ():
                found += _adapter(f"{path}.self_attn.linear_{name}_adapter_list.{turn}", layer, rank, inner, inner)
    return found


def _adapter(path: str, layer: int, rank: int, into: int, out: int) -> list[Weight]:
    return [*linear(f"{path}.0", "other", rank, into, "replicated", layer=layer), *linear(f"{path}.1", "other", out, rank, "column", layer=layer)]
