"""Qwen4Exp (Qwen3.8-Flash-Next): the Qwen3.5 hybrid with an indexer over pooled keys, hyper-connections and n-gram tables."""

from msgspec import Struct
from msgspec.structs import replace

from serveright.families import ffn as feed
from serveright.families import latent, recurrent
from serveright.families.blocks import linear, norm
from serveright.families.deepseek import prediction_layers
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids
from serveright.families.qwen_hybrid import FULL, Reader, full_attention, layer_words, vision
from serveright.types.model import Ffn, Indexer, Layer, ModelShape, Recurrent, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Qwen4ExpForConditionalGeneration", "Qwen4ExpForCausalLM"})


class _Plan(Struct, frozen=True, kw_only=True):
    frame: Frame
    reader: Reader
    indexer: Indexer | None
    streams: int
    rank: int
    ngram: Recurrent | None
    ngram_layers: frozenset[int]


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    text = text_of(fields)
    frame = open_frame(fields, text, nested_root="model.language_model.")
    count = layer_count(text, "layer_types")
    plan = _read(frame, count)
    ffns = feed.plan(text, count)
    blocks = [_block(plan, f"{frame.root}layers.{i}", i, word, ffns[i]) for i, word in enumerate(layer_words(text, count))]
    mtp = _prediction(plan, count, ffns[-1])
    eyes, eye_weights, modalities = vision(fields, files, "model.visual")
    extra = [*edges(frame, final=""), *_mix(f"{frame.root}hyper_connection_mixer", None, plan, inject=False), *eye_weights]
    return close_frame(
        frame,
        files,
        dialect="qwen4",
        blocks=blocks,
        mtp=mtp,
        extra=[weight for weight in extra if weight.path != frame.root],
        towers=eyes,
        modalities=("text", *modalities),
        streams=plan.streams,
    )


def _read(frame: Frame, count: int) -> _Plan:
    text = frame.text
    full, delta = full_attention(text, frame.hidden), recurrent.read_gated_delta(text)
    indexer = latent.read_indexer(text)
    if indexer:
        text.note("indexer_compress_ratio", msg("the indexer keeps one key for {ratio} tokens", ratio=indexer.compress_ratio))
        rope: object = text.raw.get("rope_parameters") or text.raw.get("rope_scaling")
        if isinstance(rope, dict) and "mrope_section" in rope:
            indexer = replace(indexer, position_axes=3)
        full = replace(full, indexer=indexer)
    streams, rank = text.opt_int("hc_count") or 1, text.opt_int("hc_lowrank") or 0
    if streams > 1:
        text.note("hc_count", msg("hyper-connections: {count} copies of the residual stream", count=streams))
    layers = layer_ids(text, "ple_layer_ids", count, first=1) or frozenset()
    text.ignore("attn_output_gate", "output_gate_type", "make_ngram_vocab_size_divisible_by", "split_ngram_parts", "ngram_seed")
    return _Plan(
        frame=frame,
        reader=Reader(frame, full, delta, fused=False, gated=True, layer_norms=False),
        indexer=indexer,
        streams=streams,
        rank=rank,
        ngram=_ngram_state(text, streams * frame.hidden) if layers else None,
        ngram_layers=layers,
    )


def _ngram_state(text: Fields, width: int) -> Recurrent:
    """The n-gram layer's dilated convolution remembers (kernel - 1) x n-gram size rows of all streams."""
    rows = (text.integer("ple_conv_kernel_size") - 1) * text.integer("ngram_size")
    text.note("ple_layer_ids", msg("n-gram tables feed these layers (counted from 1); their convolution keeps {rows} rows", rows=rows))
    return Recurrent(kind="short_conv", state_heads=0, state_shape=(), conv_channels=width, conv_rows=rows)


def _block(plan: _Plan, path: str, i: int, word: str, ffn: Ffn, *, main: bool = True) -> Block:
    hidden = plan.frame.hidden
    block = plan.reader.block(path, i, word, ffn)
    weights = [*block.weights, *_mix(f"{path}.attn_hyper_connection", i, plan), *_mix(f"{path}.mlp_hyper_connection", i, plan)]
    mixers = block.layer.mixers
    if word in FULL and plan.indexer:
        weights += _indexer(f"{path}.self_attn.indexer", i, hidden, plan.indexer)
    if main and plan.ngram and i in plan.ngram_layers:
        mixers = (*mixers, plan.ngram)
        weights += _ngrams(plan, f"{path}.ple", i)
    return Block(layer=Layer(index=i, mixers=mixers, ffns=(ffn,)), weights=weights)


def _indexer(path: str, i: int, hidden: int, indexer: Indexer) -> list[Weight]:
    width = (indexer.heads + indexer.key_heads) * indexer.dim
    return [
        *linear(f"{path}.index_qk_proj", "indexer", width, hidden, "replicated", layer=i),
        *norm(f"{path}.q_layernorm", indexer.dim, layer=i, part="indexer"),
        *norm(f"{path}.k_layernorm", indexer.dim, layer=i, part="indexer"),
    ]


def _mix(path: str, i: int | None, plan: _Plan, *, inject: bool = True) -> list[Weight]:
    """One gated hyper-connection: a norm over all streams, a low-rank mix, and the weight of each stream's injection."""
    wide = plan.streams * plan.frame.hidden
    return [
        *norm(f"{path}.hc_norm", wide, layer=i, part="residual"),
        *linear(f"{path}.input_mix_weight_down", "residual", plan.rank, wide, "replicated", layer=i),
        *linear(f"{path}.input_mix_weight_up", "residual", wide, plan.rank, "replicated", layer=i),
        *(linear(f"{path}.block_inject_weight", "residual", plan.streams, wide, "replicated", layer=i) if inject else []),
    ]


def _ngrams(plan: _Plan, path: str, i: int) -> list[Weight]:
    """Tables of hashed n-grams. Each head's table has the next prime above the base as rows; counted at the base, which is exact to some 10 rows in a million."""
    text, wide = plan.frame.text, plan.streams * plan.frame.hidden
    size, width = text.integer("ngram_size"), text.integer("ple_embed_dim")
    heads = text.integer("heads_per_ngram") * (size - 1)
    rows = heads * text.integer("ngram_vocab_size_base")
    kernel = text.integer("ple_conv_kernel_size")
    text.note("ngram_vocab_size_base", msg("{heads} n-gram tables of about {rows} rows", heads=heads, rows=rows // heads))
    return [
        Weight(path=f"{path}.ple_embedding.ngram_embedding", part="ngram", shape=(rows, width // heads), shard="vocab", linear=False, layer=i),
        *linear(f"{path}.key_proj", "ngram", wide, width, "replicated", layer=i),
        *linear(f"{path}.value_proj", "ngram", plan.frame.hidden, width, "replicated", layer=i),
        *(w for name in ("norm_key", "norm_query", "norm_conv") for w in norm(f"{path}.{name}", wide, layer=i, part="ngram")),
        Weight(path=f"{path}.conv1d", part="ngram", shape=(wide, 1, kernel), shard="replicated", linear=False, layer=i),
    ]


def _prediction(plan: _Plan, count: int, ffn: Ffn) -> list[Block]:
    extra, hidden = prediction_layers(plan.frame.text), plan.frame.hidden
    blocks = [_block(plan, f"mtp.layers.{j}", count + j, "full_attention", ffn, main=False) for j in range(extra)]
    if blocks:
        blocks[0].weights += [
            *linear("mtp.fc_embedding", "mtp", hidden, hidden, "column"),
            *linear("mtp.fc_hidden", "mtp", hidden, hidden, "column"),
            *norm("mtp.pre_fc_norm_embedding", hidden),
            *norm("mtp.pre_fc_norm_hidden", plan.streams * hidden),
            *_mix("mtp.hyper_connection_mixer", None, plan, inject=False),
        ]
    return blocks
