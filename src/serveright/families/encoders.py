"""Encoders: BERT and its kin, and ModernBERT. Every token sees every other; nothing is cached."""

from msgspec.structs import replace

from serveright.families.attention import Defaults, base_heads
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, close_frame, edges, layer_count, open_frame
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_BERT = {"BertModel", "BertForMaskedLM", "BertForSequenceClassification", "BertForTokenClassification"}
_ROBERTA = {
    "RobertaModel",
    "RobertaForMaskedLM",
    "RobertaForSequenceClassification",
    "RobertaForTokenClassification",
    "XLMRobertaModel",
    "XLMRobertaForMaskedLM",
    "XLMRobertaForSequenceClassification",
    "XLMRobertaForTokenClassification",
}
_MODERN = {"ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification", "ModernBertForTokenClassification"}
ARCHITECTURES = frozenset(_BERT | _ROBERTA | _MODERN)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    modern = files.config["architectures"][0] in _MODERN
    fields.note("architectures", msg("an encoder: every token sees every other, nothing is cached"), files.config["architectures"][0])
    frame = open_frame(fields, fields, root="model." if modern else "", tied=True)
    count = layer_count(fields)
    heads = base_heads(fields, frame.hidden, Defaults(source="transformers 5.24 BertConfig"))
    width = fields.integer("intermediate_size")
    mixer = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.dim, causal=False)
    if modern:
        blocks = [_modern(fields, index, frame.hidden, width, mixer) for index in range(count)]
        extra = [*edges(frame, embed="embeddings.tok_embeddings", final="final_norm"), *norm("model.embeddings.norm", frame.hidden)]
    else:
        blocks = [_bert(index, frame.hidden, width, mixer) for index in range(count)]
        extra = _bert_tables(fields, frame.vocab, frame.hidden)
    fields.ignore("position_embedding_type", "global_attn_every_n_layers", "local_attention", "sparse_prediction", "layer_types")
    found = close_frame(frame, files, dialect="encoders", blocks=blocks, extra=extra)
    masked = files.config["architectures"][0].endswith("ForMaskedLM")
    return replace(found, causal=False, tied_embeddings=found.tied_embeddings and masked)


def _bert_tables(fields: Fields, vocab: int, hidden: int) -> list[Weight]:
    sizes = {
        "word_embeddings": vocab,
        "position_embeddings": fields.integer("max_position_embeddings"),
        "token_type_embeddings": fields.integer("type_vocab_size"),
    }
    tables = [
        Weight(path=f"embeddings.{name}", part="embed", shape=(rows, hidden), shard="vocab" if name == "word_embeddings" else "replicated", linear=False)
        for name, rows in sizes.items()
    ]
    return [*tables, *norm("embeddings.LayerNorm", hidden, bias=True), *linear("pooler.dense", "head", hidden, hidden, "replicated", bias=True)]


def _bert(index: int, hidden: int, width: int, mixer: Attention) -> Block:
    path = f"encoder.layer.{index}"
    weights: list[Weight] = []
    for name in ("query", "key", "value"):
        weights += linear(f"{path}.attention.self.{name}", "attention", hidden, hidden, "q_heads", layer=index, units=mixer.query_heads, bias=True)
    weights += linear(f"{path}.attention.output.dense", "attention", hidden, hidden, "row", layer=index, units=mixer.query_heads, bias=True)
    weights += norm(f"{path}.attention.output.LayerNorm", hidden, layer=index, bias=True)
    weights += linear(f"{path}.intermediate.dense", "mlp", width, hidden, "column", layer=index, bias=True)
    weights += linear(f"{path}.output.dense", "mlp", hidden, width, "row", layer=index, bias=True)
    weights += norm(f"{path}.output.LayerNorm", hidden, layer=index, bias=True)
    return Block(layer=Layer(index=index, mixers=(mixer,), ffns=(Ffn(kind="dense", intermediate=width, gated=False),)), weights=weights)


def _modern(fields: Fields, index: int, hidden: int, width: int, mixer: Attention) -> Block:
    """Every n-th layer from the first on is global, the others look at a window around the token."""
    every = (
        fields.int_or(3, "transformers 5.24 ModernBertConfig", "global_attn_every_n_layers", minimum=1)
        if index == 0
        else (fields.opt_int("global_attn_every_n_layers") or 3)
    )
    window = fields.opt_int("local_attention", minimum=1) or 128
    mine = mixer if index % every == 0 else replace(mixer, kind="sliding", window_tokens=window)
    path = f"model.layers.{index}"
    weights = [
        *linear(f"{path}.attn.Wqkv", "attention", 3 * hidden, hidden, "q_heads", layer=index, units=mixer.query_heads),
        *linear(f"{path}.attn.Wo", "attention", hidden, hidden, "row", layer=index, units=mixer.query_heads),
        *linear(f"{path}.mlp.Wi", "mlp", 2 * width, hidden, "column", layer=index),
        *linear(f"{path}.mlp.Wo", "mlp", hidden, width, "row", layer=index),
        *norm(f"{path}.mlp_norm", hidden, layer=index),
    ]
    if index:
        weights += norm(f"{path}.attn_norm", hidden, layer=index)
    return Block(layer=Layer(index=index, mixers=(mine,), ffns=(Ffn(kind="dense", intermediate=width),)), weights=weights)
