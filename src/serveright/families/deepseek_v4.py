"""DeepSeek V4 and V4.1: a window of latent rows in every layer, pooled rows (`compress_ratios`) in most, hash routing, hyper-connections, n-gram tables.

V4 pools in each layer; V4.1 names source layers whose pooled rows and picks the layers after them reuse (`kv_source_layer_ids`, `index_source_layer_ids`).
"""

from collections import Counter

from msgspec import Struct

from serveright.errors import InputError
from serveright.families import ffn as feed
from serveright.families import latent, next_towers
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import MTP, Block, Frame, as_mtp, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids, require_layer
from serveright.types.model import Ffn, Indexer, Latent, LatentKind, Layer, ModelShape, Part, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"DeepseekV4ForCausalLM", "DeepseekV4ForConditionalGeneration", "DeepseekV41ForCausalLM", "DeepseekV41ForConditionalGeneration"})
_KINDS: dict[int, LatentKind] = {4: "csa", 128: "hca"}
_RATES = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_SOURCE = "transformers 5.24 DeepseekV4Config"
_MATRICES = ("w1", "w3", "w2")


class _Plan(Struct, frozen=True, kw_only=True):
    """What all layers share: widths, per-layer ratios, and which layers are sources."""

    frame: Frame
    base: Latent
    indexer: Indexer
    ratios: tuple[int, ...]
    kv_sources: tuple[int, ...]
    index_sources: tuple[int, ...]
    groups: int
    o_lora: int
    hc: int
    hash_layers: int
    correction: bool

    @property
    def width(self) -> int:
        return self.base.kv_lora_rank + self.base.rope_dim


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), root="", head="head")
    text = frame.text
    count = layer_count(text)
    plan = _read(frame, count)
    moe = feed.plan(text, count + _mtp_count(text, count))
    blocks = [_block(plan, f"layers.{i}", i, moe[i], plan.ratios[i]) for i in range(count)]
    extra = [*edges(frame, embed="embed"), *_head_mix("", plan), *_engrams(text, plan)]
    mtp, joins = _prediction(plan, count, moe[-1])
    eyes, tower, modalities = _eyes(fields, text, frame.hidden)
    return close_frame(
        frame,
        files,
        dialect="deepseek_v4",
        blocks=blocks,
        mtp=mtp,
        extra=extra + joins + tower,
        towers=eyes,
        modalities=("text", *modalities),
        streams=plan.hc,
    )


def _eyes(fields: Fields, text: Fields, hidden: int) -> tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]:
    """The encoder of the vision versions: a nested `vision_config`, or `vision_n_layers` above 0 among the model's own fields."""
    nested = fields.child("vision_config")
    flat = nested is None and bool(text.opt_int("vision_n_layers"))
    if nested is None and not flat:
        return (), [], ()
    fields.note("vision_config" if nested is not None else "vision_n_layers", msg("a vision encoder stands in front: images in"), "…")
    tower, weights = next_towers.deepseek_v4(text if nested is None else nested, hidden, flat=flat)
    return (tower,), weights, ("image",)


def _read(frame: Frame, count: int) -> _Plan:
    text = frame.text
    dim, rope = text.integer("head_dim"), text.integer("qk_rope_head_dim", minimum=0)
    if rope >= dim:
        raise InputError(
            msg(
                "{file}: {key} {value} leaves nothing of {other} {whole}",
                file=text.file,
                key=text.at("qk_rope_head_dim"),
                value=rope,
                other=text.at("head_dim"),
                whole=dim,
            ),
            msg("Compare the file with the one on the model's page."),
        )
    heads = text.integer("num_attention_heads")
    text.note("num_key_value_heads", msg("one latent row of {dim} elements per token serves all {heads} heads as key and value", dim=dim, heads=heads))
    window = text.integer("sliding_window")
    text.note("sliding_window", msg("every layer keeps the last {window} rows unpooled", window=window))
    text.ignore("compress_rope_theta", "expert_dtype", "n_mtp_layers")
    indexer = latent.read_indexer(text)
    if indexer is None:
        indexer = Indexer(heads=text.integer(*latent.INDEX_HEADS), dim=text.integer(*latent.INDEX_DIM), topk=text.integer(*latent.INDEX_TOPK))
    hc = text.opt_int("hc_mult") or 1
    if hc > 1:
        text.note("hc_mult", msg("hyper-connections: {count} copies of the residual stream", count=hc))
    hashed = _hash_layers(text)
    if hashed:
        text.note(
            "num_hash_layers" if text.has("num_hash_layers") else "mlp_layer_types",
            msg("the first {count} layers choose experts by a table of token ids", count=hashed),
        )
    return _Plan(
        frame=frame,
        base=Latent(
            kind="sliding_mla",
            query_heads=heads,
            kv_lora_rank=dim - rope,
            rope_dim=rope,
            nope_dim=dim - rope,
            v_head_dim=dim,
            q_lora_rank=text.integer("q_lora_rank"),
            window_tokens=window,
            sinks=True,
        ),
        indexer=indexer,
        ratios=_ratios(text, count),
        kv_sources=tuple(sorted(layer_ids(text, "kv_source_layer_ids", count) or ())),
        index_sources=tuple(sorted(layer_ids(text, "index_source_layer_ids", count) or ())),
        groups=text.integer("o_groups"),
        o_lora=text.integer("o_lora_rank"),
        hc=hc,
        hash_layers=hashed,
        correction=text.text("topk_method") == "noaux_tc",
    )


def _ratios(text: Fields, count: int) -> tuple[int, ...]:
    ratios = text.ints("compress_ratios") or _ratios_by_type(text, count)
    if ratios is None:
        text.unknown("compress_ratios", msg("{given} entries for {count} layers; the missing ones are taken as window only", given=0, count=count))
        ratios = (0,) * count
    # a DSpark block is listed whole while the config may still name one prediction layer
    behind = max(text.opt_int(*MTP) or 0, len(text.ints("dspark_target_layer_ids") or ()))
    if not count <= len(ratios) <= count + behind:
        text.items("compress_ratios", length=count)
    words = ", ".join(f"{number} x {ratio}" for ratio, number in sorted(Counter(ratios[:count]).items()))
    key = "compress_ratios" if text.has("compress_ratios") else "layer_types"
    text.note(key, msg("rows pooled by layer (layers x ratio): {summary}; 0 keeps the window only", summary=words), words)
    return ratios


def _ratios_by_type(text: Fields, count: int) -> tuple[int, ...] | None:
    """The same in transformers' spelling: a type for every layer and one rate for each type. Raises InputError for a type without a rate."""
    words = text.items("layer_types", length=count)
    if words is None:
        return None
    rates = text.child("compress_rates")
    found = {"sliding_attention": 0}
    for word, rate in _RATES.items():
        found[word] = rates.int_or(rate, _SOURCE, word, minimum=1) if rates else rate
    strange = next((str(word) for word in words if word not in found), None)
    if strange is not None:
        raise InputError(
            msg(
                "{file}: {key} names {word}, for which there is no rate in {rates}",
                file=text.file,
                key=text.at("layer_types"),
                word=strange[:40],
                rates=text.at("compress_rates"),
            )
        )
    return tuple(found[word] for word in words)


def _hash_layers(text: Fields) -> int:
    """Layers that choose experts by a table, in front of the others: a number, or the first entries of `mlp_layer_types`."""
    words = text.items("mlp_layer_types") if text.raw.get("num_hash_layers") is None else None
    return sum(word == "hash_moe" for word in words) if words else text.opt_int("num_hash_layers") or 0


def _mtp_count(text: Fields, count: int) -> int:
    """Prediction layers in the checkpoint: entries of `compress_ratios` behind the model's own layers count too (DSpark's config still says 1)."""
    listed = len(text.ints("compress_ratios") or ()) - count
    return max(text.opt_int(*MTP) or 0, listed, 0)


def _mixer(plan: _Plan, i: int, ratio: int) -> tuple[Latent, int | None]:
    """The layer's mixer, and the layer whose pooled rows it reads."""
    base = plan.base
    if ratio == 0:
        return base, None
    kind = _KINDS.get(ratio, "compressed")
    source = max((s for s in plan.kv_sources if s <= i), default=i) if plan.kv_sources else i
    has_indexer = bool(plan.index_sources) or kind == "csa"
    indexer = None
    if has_indexer:
        scores = source == i and (not plan.index_sources or i in plan.index_sources)
        indexer = Indexer(heads=plan.indexer.heads, dim=plan.indexer.dim, topk=plan.indexer.topk, owns_keys=scores, compress_ratio=ratio)
    mixer = Latent(
        kind=kind,
        query_heads=base.query_heads,
        kv_lora_rank=base.kv_lora_rank,
        rope_dim=base.rope_dim,
        nope_dim=base.nope_dim,
        v_head_dim=base.v_head_dim,
        q_lora_rank=base.q_lora_rank,
        indexer=indexer,
        compress_ratio=ratio,
        window_tokens=base.window_tokens,
        sinks=True,
    )
    return mixer, None if source == i else source


def _block(plan: _Plan, path: str, i: int, ffn: Ffn, ratio: int, *, hashed: bool = True) -> Block:
    hidden = plan.frame.hidden
    mixer, source = _mixer(plan, i, ratio)
    by_table = hashed and i < plan.hash_layers
    names = feed.FfnNames(block="ffn", matrices=_MATRICES, router_bias="gate.bias" if plan.correction and not by_table else None)
    weights = [
        *norm(f"{path}.attn_norm", hidden, layer=i),
        *_attention(plan, f"{path}.attn", i, mixer, source),
        *norm(f"{path}.ffn_norm", hidden, layer=i),
        *feed.weights(path, i, hidden, ffn, names),
        *_mix(path, i, plan),
    ]
    if by_table:
        weights.append(_table(f"{path}.ffn.gate.tid2eid", "router", (plan.frame.vocab, ffn.experts_per_token), layer=i))
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,), cache_from=source), weights=weights)


def _table(path: str, part: Part, sides: tuple[int, ...], *, layer: int | None = None) -> Weight:
    return Weight(path=path, part=part, shape=sides, shard="replicated", linear=False, layer=layer)


def _mix(path: str, i: int, plan: _Plan) -> list[Weight]:
    """Hyper-connections around attention and FFN."""
    if plan.hc == 1:
        return []
    mix = (2 + plan.hc) * plan.hc
    sides = (("fn", (mix, plan.hc * plan.frame.hidden)), ("base", (mix,)), ("scale", (3,)))
    return [_table(f"{path}.hc_{name}_{word}", "residual", side, layer=i) for name in ("attn", "ffn") for word, side in sides]


def _head_mix(prefix: str, plan: _Plan) -> list[Weight]:
    if plan.hc == 1:
        return []
    return [
        _table(f"{prefix}hc_head_fn", "residual", (plan.hc, plan.hc * plan.frame.hidden)),
        _table(f"{prefix}hc_head_base", "residual", (plan.hc,)),
        _table(f"{prefix}hc_head_scale", "residual", (1,)),
    ]


def _attention(plan: _Plan, path: str, i: int, m: Latent, source: int | None) -> list[Weight]:
    heads, width, q_lora, hidden = m.query_heads, plan.width, m.q_lora_rank or 0, plan.frame.hidden
    weights = [
        *linear(f"{path}.wq_a", "attention", q_lora, hidden, "replicated", layer=i),
        *norm(f"{path}.q_norm", q_lora, layer=i),
        *linear(f"{path}.wq_b", "attention", heads * width, q_lora, "q_heads", layer=i, units=heads),
        *linear(f"{path}.wkv", "attention", width, hidden, "replicated", layer=i),
        *norm(f"{path}.kv_norm", width, layer=i),
        *linear(f"{path}.wo_a", "attention", plan.groups * plan.o_lora, heads * width // plan.groups, "q_heads", layer=i, units=plan.groups),
        *linear(f"{path}.wo_b", "attention", hidden, plan.groups * plan.o_lora, "row", layer=i, units=plan.groups),
        Weight(path=f"{path}.attn_sink", part="attention", shape=(heads,), shard="q_heads", units=heads, linear=False, layer=i),
    ]
    pooled = bool(plan.kv_sources)
    if m.compress_ratio and source is None:
        weights += _compressor(f"{path}.compressor", i, hidden, width, m.compress_ratio, overlap=m.kind == "csa", learned=not pooled, part="attention")
    if m.indexer and (m.indexer.owns_keys or i in plan.index_sources):
        weights += _indexer(f"{path}.indexer", i, plan, m.indexer, q_lora, pooled=pooled)
    return weights


def _indexer(path: str, i: int, plan: _Plan, ix: Indexer, q_lora: int, *, pooled: bool) -> list[Weight]:
    weights = [
        *linear(f"{path}.wq_b", "indexer", ix.heads * ix.dim, q_lora, "replicated", layer=i),
        latent.unquantised(f"{path}.weights_proj", "indexer", ix.heads, plan.frame.hidden, layer=i),
    ]
    if not pooled:
        return weights + _compressor(f"{path}.compressor", i, plan.frame.hidden, ix.dim, ix.compress_ratio, overlap=True, learned=True, part="indexer")
    if ix.owns_keys:
        weights += linear(f"{path}.wk", "indexer", ix.dim, plan.width, "replicated", layer=i)
        weights += norm(f"{path}.k_norm", ix.dim, layer=i, part="indexer")
    return weights


def _compressor(path: str, i: int, hidden: int, width: int, ratio: int, *, overlap: bool, learned: bool, part: Part) -> list[Weight]:
    """Pools `ratio` tokens into one row. `overlap`: two interleaved pools; `learned`: with position weights (V4)."""
    out = (2 if overlap else 1) * width
    return [
        *([_table(f"{path}.ape", part, (ratio, out), layer=i)] if learned else []),
        latent.unquantised(f"{path}.wkv", part, out, hidden, layer=i),
        latent.unquantised(f"{path}.wgate", part, out, hidden, layer=i),
        *norm(f"{path}.norm", width, layer=i, part=part),
    ]


def _engrams(text: Fields, plan: _Plan) -> list[Weight]:
    layers, rows = text.ints("engram_layer_ids"), text.ints("engram_num_embeddings")
    if not layers or not rows:
        return []
    dim, hidden = text.integer("engram_head_dim"), plan.frame.hidden
    columns = (text.integer("engram_max_ngram_size") - 1) * text.integer("engram_n_heads")
    text.ignore("engram_vocab_size", "engram_compressed_vocab_size", "engram_pad_token_id")
    text.note(
        "engram_layer_ids", msg("n-gram tables: {rows} rows of {dim} looked up in {count} layers", rows=sum(rows), dim=dim, count=len(layers)), list(layers)
    )
    weights: list[Weight] = []
    for layer, count in zip(layers, rows, strict=False):
        require_layer(text, "engram_layer_ids", layer, len(plan.ratios))
        path = f"layers.{layer}.engram"
        weights.append(Weight(path=f"{path}.embed", part="ngram", shape=(count, dim), shard="vocab", linear=False, layer=layer))
        weights += linear(f"{path}.wkv", "ngram", hidden * (plan.hc + 1), columns * dim, "column", layer=layer)
        weights += [_table(f"{path}.{name}_weight", "ngram", (plan.hc, hidden), layer=layer) for name in ("q", "k")]
    return weights


def _prediction(plan: _Plan, count: int, ffn: Ffn) -> tuple[list[Block], list[Weight]]:
    """Prediction layers: one after another (plain), or a DSpark block that drafts several tokens at once."""
    text, hidden = plan.frame.text, plan.frame.hidden
    extra = _mtp_count(text, count)
    targets = text.ints("dspark_target_layer_ids")
    for target in targets or ():
        require_layer(text, "dspark_target_layer_ids", target, count)
    rank = text.opt_int("dspark_markov_rank") or 0
    text.ignore("dspark_block_size", "dspark_noise_token_id")
    if not extra:
        return [], []
    text.note(
        next((k for k in MTP if text.raw.get(k) is not None), MTP[0]),
        msg("prediction layers for speculative decoding, behind the model's own: {count}", count=extra),
        extra,
    )
    own, top = text.opt_int("dspark_n_routed_experts"), text.opt_int("dspark_num_experts_per_tok")
    if own:
        ffn = Ffn(
            kind="moe",
            intermediate=ffn.intermediate,
            experts=own,
            experts_per_token=top or ffn.experts_per_token,
            shared_experts=ffn.shared_experts,
            shared_intermediate=ffn.shared_intermediate,
        )
    blocks = [_block(plan, f"mtp.{j}", count + j, ffn, 0, hashed=False) for j in range(extra)]
    if targets:
        text.note(
            "dspark_target_layer_ids",
            msg("DSpark: the prediction layers read {count} layers of the model and draft a block at once", count=len(targets)),
            list(targets),
        )
        joins = [
            *linear("mtp.0.main_proj", "mtp", hidden, len(targets) * hidden, "replicated"),
            *norm("mtp.0.main_norm", hidden),
            *norm(f"mtp.{extra - 1}.norm", hidden),
            *_head_mix(f"mtp.{extra - 1}.", plan),
            _table(f"mtp.{extra - 1}.markov_head.markov_w1", "mtp", (plan.frame.vocab, rank)),
            *linear(f"mtp.{extra - 1}.markov_head.markov_w2", "mtp", plan.frame.vocab, rank, "replicated"),
            *linear(f"mtp.{extra - 1}.confidence_head", "mtp", 1, hidden + rank, "replicated"),
        ]
        return blocks, as_mtp(joins)
    joins = [w for j in range(extra) for w in _join(f"mtp.{j}", plan)]
    return blocks, as_mtp(joins)


def _join(path: str, plan: _Plan) -> list[Weight]:
    hidden = plan.frame.hidden
    return [
        *(w for name in ("enorm", "hnorm", "norm") for w in norm(f"{path}.{name}", hidden)),
        *(w for name in ("e_proj", "h_proj") for w in linear(f"{path}.{name}", "mtp", hidden, hidden, "replicated")),
        *_head_mix(f"{path}.", plan),
    ]
