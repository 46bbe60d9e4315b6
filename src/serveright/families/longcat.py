"""LongCat-Flash: every layer holds two latent attentions and two dense MLPs beside one block of experts, some of which do nothing; n-gram tables in Lite."""

from serveright.families import ffn as feed
from serveright.families import latent
from serveright.families.blocks import linear, mlp, norm
from serveright.families.deepseek import prediction_layers
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, as_mtp, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Ffn, Latent, Layer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM", "LongcatCausalLM"})
_NAMES = feed.FfnNames(router="router.classifier", router_bias="router.e_score_correction_bias")


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields))
    text = frame.text
    count = layer_count(text)
    row = latent.read_latent(text)
    dense = Ffn(kind="dense", intermediate=text.integer("ffn_hidden_size", "intermediate_size"))
    moe = feed.read_moe(text, width_keys=("expert_ffn_hidden_size", "moe_intermediate_size"))
    text.note(
        "num_layers" if text.raw.get("num_layers") is not None else "num_hidden_layers",
        msg("{count} layers with two latent attentions each: {caches} caches", count=count, caches=2 * count),
    )
    blocks = [_block(frame, i, row, dense, moe) for i in range(count)]
    joins, mtp = _prediction(frame, count, row, dense)
    extra = [*edges(frame), *_ngrams(frame), *joins]
    return close_frame(frame, files, dialect="longcat", blocks=blocks, mtp=mtp, extra=extra)


def _block(frame: Frame, i: int, row: Latent, dense: Ffn, moe: Ffn | None) -> Block:
    path, hidden = f"{frame.root}layers.{i}", frame.hidden
    weights: list[Weight] = []
    for side in (0, 1):
        weights += norm(f"{path}.input_layernorm.{side}", hidden, layer=i)
        weights += latent.weights(f"{path}.self_attn.{side}", i, hidden, row)
        weights += norm(f"{path}.post_attention_layernorm.{side}", hidden, layer=i)
        weights += mlp(f"{path}.mlps.{side}", i, hidden, dense.intermediate)
    if moe:
        weights += feed.weights(path, i, hidden, moe, _NAMES)
    return Block(layer=Layer(index=i, mixers=(row, row), ffns=(dense, dense, moe) if moe else (dense, dense)), weights=weights)


def _ngrams(frame: Frame) -> list[Weight]:
    """Hashed n-gram tables: table i has ratio x vocabulary + 2i + 1 rows; each feeds a slice of the hidden size."""
    text = frame.text
    ratio = text.opt_int("ngram_vocab_size_ratio", "oe_vocab_sizes_ratio")
    if not ratio:
        return []
    tables = text.integer("emb_split_num", "oe_split_num") * (text.integer("emb_neighbor_num", "oe_neighbor_num") - 1)
    width, rows = frame.hidden // max(tables, 1), ratio * frame.vocab
    text.note("ngram_vocab_size_ratio", msg("{tables} n-gram tables of about {rows} rows of {width}", tables=tables, rows=rows, width=width), ratio)
    weights: list[Weight] = []
    for i in range(tables):
        path = f"{frame.root}ngram_embeddings"
        weights.append(Weight(path=f"{path}.embedders.{i}", part="ngram", shape=(rows + 2 * i + 1, width), shard="vocab", linear=False))
        weights += linear(f"{path}.post_projs.{i}", "ngram", frame.hidden, width, "replicated")
    return weights


def _prediction(frame: Frame, count: int, row: Latent, dense: Ffn) -> tuple[list[Weight], list[Block]]:
    extra = prediction_layers(frame.text, (1, "vLLM 0.33.0 SpeculativeConfig (longcat_flash_mtp)"))
    hidden = frame.hidden
    blocks: list[Block] = []
    for j in range(extra):
        path, i = f"{frame.root}mtp.layers.{j}", count + j
        weights = [
            *(w for name in ("enorm.m", "hnorm.m", "input_layernorm", "post_attention_layernorm") for w in norm(f"{path}.{name}", hidden, layer=i)),
            *linear(f"{path}.eh_proj", "mtp", hidden, 2 * hidden, "replicated", layer=i),
            *latent.weights(f"{path}.self_attn", i, hidden, row),
            *mlp(f"{path}.transformer_layer.mlp", i, hidden, dense.intermediate),
        ]
        blocks.append(Block(layer=Layer(index=i, mixers=(row,), ffns=(dense,)), weights=weights))
    if not extra:
        return [], []
    table = Weight(path=f"{frame.root}mtp.embed_tokens", part="mtp", shape=(frame.vocab, hidden), shard="vocab", linear=False)
    return as_mtp([table, *norm(f"{frame.root}mtp.norm", hidden)]), blocks
