"""Inkling: two head counts (local and global layers), four short convolutions in every layer, relative positions, experts with sinks, dense prediction layers."""

from msgspec import Struct

from serveright.families import ffn as feed
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"InklingForConditionalGeneration", "InklingForCausalLM", "Inkling2ForConditionalGeneration"})


class _Plan(Struct, frozen=True, kw_only=True):
    frame: Frame
    full: Attention
    local: Attention
    local_ids: frozenset[int]
    kernel: int
    rel_dim: int
    rel_extent: int
    gate_bias: bool
    scale: bool


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), root="model.llm.", nested_root="model.llm.", head="model.llm.unembed", nested_head="model.llm.unembed")
    text = frame.text
    count = layer_count(text)
    plan = _read(text, frame, count)
    ffns = _ffns(text, count)
    blocks = [_block(plan, f"{frame.root}layers.{i}", i, ffns[i], i in plan.local_ids) for i in range(count)]
    mtp = _prediction(fields, plan, count, next((ffn for ffn in ffns if ffn.kind == "dense"), ffns[0]))
    extra = edges(frame, embed="embed")
    if text.flag("use_embed_norm"):
        extra += norm(f"{frame.root}embed_norm", frame.hidden)
    towers, more, modalities = _encoders(fields, frame.hidden)
    return close_frame(frame, files, dialect="inkling", blocks=blocks, mtp=mtp, extra=extra + more, towers=towers, modalities=("text", *modalities))


def _read(text: Fields, frame: Frame, count: int) -> _Plan:
    kernel = text.opt_int("sconv_kernel_size", "conv_kernel_size") or 4
    text.note("sconv_kernel_size", msg("short convolutions beside attention and FFN keep {rows} rows in every layer", rows=kernel - 1), kernel)
    full = _heads(text, "", frame.hidden, kernel, None)
    window = text.integer("sliding_window_size", "sliding_window")
    local = _heads(text, "swa_", frame.hidden, kernel, window)
    words = text.items("layer_types", length=count)
    listed = layer_ids(text, "local_layer_ids", count)
    ids = frozenset((i for i, word in enumerate(words) if str(word).endswith("sliding")) if words is not None and listed is None else listed or ())
    if text.raw.get("n_layers_per_attn_res_block") is not None:
        text.unknown("n_layers_per_attn_res_block", msg("residual blocks of this version are not counted among the weights"))
    text.note(
        "layer_types" if listed is None else "local_layer_ids",
        msg("{local} of {count} layers see the last {window} tokens only", local=len(ids), count=count, window=window),
        len(ids),
    )
    text.note(
        "swa_num_key_value_heads", msg("local layers keep {local} KV heads, global ones {full}", local=local.kv_heads, full=full.kv_heads), local.kv_heads
    )
    text.ignore("use_sconv", "log_scaling_n_floor", "shared_expert_sink", "shared_experts_size", "norm_after_topk", "gate_activation", "route_scale")
    text.ignore("inference_moe_w13_interleaved", "unpadded_vocab_size", "logits_mup_width_multiplier")
    return _Plan(
        frame=frame,
        full=full,
        local=local,
        local_ids=ids,
        kernel=kernel,
        rel_dim=text.integer("d_rel"),
        rel_extent=text.integer("rel_extent"),
        gate_bias=text.flag("use_gate_bias"),
        scale=text.flag("use_global_scale"),
    )


def _heads(text: Fields, prefix: str, hidden: int, kernel: int, window: int | None) -> Attention:
    query = text.integer(f"{prefix}num_attention_heads", "num_attention_heads")
    kv = text.integer(f"{prefix}num_key_value_heads", "num_key_value_heads")
    dim = text.integer(f"{prefix}head_dim", "head_dim")
    v_dim = text.opt_int(f"{prefix}v_head_dim", "v_head_dim", minimum=1) or dim
    return Attention(
        kind="sliding" if window else "full",
        query_heads=query,
        kv_heads=kv,
        head_dim=dim,
        v_head_dim=v_dim,
        window_tokens=window,
        conv_rows=kernel - 1,
        conv_channels=kv * (dim + v_dim) + 2 * hidden,
    )


def _ffns(text: Fields, count: int) -> tuple[Ffn, ...]:
    """`intermediate_size` is an expert's width where `dense_intermediate_size` gives the dense one, the dense width where `moe_intermediate_size` is there."""
    if text.raw.get("moe_intermediate_size") is not None:
        return feed.plan(text, count, dense_keys=("intermediate_size",))
    return feed.plan(text, count, dense_keys=("dense_intermediate_size", "intermediate_size"), width_keys=("intermediate_size",))


def _block(plan: _Plan, path: str, i: int, ffn: Ffn, local: bool) -> Block:
    hidden, m = plan.frame.hidden, plan.local if local else plan.full
    at = f"{path}.attn"
    weights = [
        *norm(f"{path}.attn_norm", hidden, layer=i),
        *linear(f"{at}.wq_du", "attention", m.query_heads * m.head_dim, hidden, "q_heads", layer=i, units=m.query_heads),
        *linear(f"{at}.wk_dv", "attention", m.kv_heads * m.head_dim, hidden, "kv_heads", layer=i, units=m.kv_heads),
        *linear(f"{at}.wv_dv", "attention", m.kv_heads * m.v_head_dim, hidden, "kv_heads", layer=i, units=m.kv_heads),
        *linear(f"{at}.wr_du", "attention", m.query_heads * plan.rel_dim, hidden, "q_heads", layer=i, units=m.query_heads),
        *linear(f"{at}.wo_ud", "attention", hidden, m.query_heads * m.v_head_dim, "row", layer=i, units=m.query_heads),
        *norm(f"{at}.q_norm", m.head_dim, layer=i),
        *norm(f"{at}.k_norm", m.head_dim, layer=i),
        _table(f"{at}.rel_logits_proj.proj", (plan.rel_dim, m.window_tokens or plan.rel_extent), i),
        _table(f"{at}.k_sconv", (m.kv_heads * m.head_dim, 1, plan.kernel), i),
        _table(f"{at}.v_sconv", (m.kv_heads * m.v_head_dim, 1, plan.kernel), i),
        _table(f"{path}.attn_sconv", (hidden, 1, plan.kernel), i),
        _table(f"{path}.mlp_sconv", (hidden, 1, plan.kernel), i),
        *norm(f"{path}.mlp_norm", hidden, layer=i),
        *_ffn(plan, f"{path}.mlp", i, ffn),
    ]
    return Block(layer=Layer(index=i, mixers=(m,), ffns=(ffn,)), weights=weights)


def _table(path: str, sides: tuple[int, ...], i: int) -> Weight:
    return Weight(path=path, part="attention", shape=sides, shard="replicated", linear=False, layer=i)


def _ffn(plan: _Plan, path: str, i: int, ffn: Ffn) -> list[Weight]:
    hidden, width = plan.frame.hidden, ffn.intermediate
    scale = [Weight(path=f"{path}.global_scale", part="router", shape=(1,), shard="replicated", linear=False, layer=i)] if plan.scale else []
    if ffn.kind == "dense":
        return [
            *linear(f"{path}.w13_dn", "mlp", 2 * width, hidden, "column", layer=i),
            *linear(f"{path}.w2_md", "mlp", hidden, width, "row", layer=i),
            *scale,
        ]
    gate = f"{path}.gate"
    weights = [Weight(path=gate, part="router", shape=(ffn.experts + ffn.shared_experts, hidden), shard="replicated", layer=i)]
    if plan.scale:
        weights.append(Weight(path=f"{gate}.global_scale", part="router", shape=(1,), shard="replicated", linear=False, layer=i))
    if plan.gate_bias:
        weights.append(Weight(path=f"{gate}.bias", part="router", shape=(ffn.experts,), shard="replicated", linear=False, layer=i))
    count, shared, each = ffn.experts, ffn.shared_experts, ffn.shared_intermediate
    weights += [
        Weight(path=f"{path}.experts.*.w13_weight", part="experts", shape=(2 * width, hidden), shard="experts", copies=count, units=count, layer=i),
        Weight(path=f"{path}.experts.*.w2_weight", part="experts", shape=(hidden, width), shard="experts", copies=count, units=count, layer=i),
    ]
    if shared:
        weights.append(
            Weight(path=f"{path}.shared_experts.*.w13_weight", part="shared_experts", shape=(2 * each, hidden), shard="column", copies=shared, layer=i)
        )
        weights.append(Weight(path=f"{path}.shared_experts.*.w2_weight", part="shared_experts", shape=(hidden, each), shard="row", copies=shared, layer=i))
    return weights


def _prediction(fields: Fields, plan: _Plan, count: int, dense: Ffn) -> list[Block]:
    config = fields.child("mtp_config")
    extra = (config.opt_int("num_nextn_predict_layers") if config else None) or 0
    if config is None or not extra:
        return []
    config.note("num_nextn_predict_layers", msg("prediction layers for speculative decoding, behind the model's own: {count}", count=extra))
    local = layer_ids(config, "local_layer_ids", extra) or frozenset()
    hidden = plan.frame.hidden
    blocks: list[Block] = []
    for j in range(extra):
        path = f"model.mtp.layers.{j}"
        block = _block(plan, f"{path}.transformer_block", count + j, dense, j in local)
        block.weights += [*norm(f"{path}.hidden_norm", hidden), *norm(f"{path}.embed_norm", hidden)]
        block.weights += linear(f"{path}.input_proj", "mtp", hidden, 2 * hidden, "replicated")
        blocks.append(block)
    if config.flag("chain_hidden_post_norm"):
        blocks[-1].weights += norm("model.mtp.chain_norm", hidden)
    return blocks


def _encoders(fields: Fields, hidden: int) -> tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]:
    """The audio table (mel bins x levels); the vision encoder is a small MLP whose widths the config does not give."""
    modalities: list[str] = []
    towers: list[Tower] = []
    weights: list[Weight] = []
    vision = fields.child("vision_config")
    if vision is not None:
        modalities.append("image")
        towers.append(Tower(kind="vision", layers=vision.opt_int("n_layers") or 0, hidden=hidden))
        vision.ignore(*vision.raw)
        fields.unknown("vision_config", msg("the patch encoder's widths are not in the config; its weights are not counted"))
    audio = fields.child("audio_config")
    if audio is not None:
        modalities.append("audio")
        rows = audio.integer("n_mel_bins") * audio.integer("mel_vocab_size")
        towers.append(Tower(kind="audio", layers=0, hidden=hidden))
        audio.ignore(*audio.raw)
        weights.append(Weight(path="model.audio.encoder", part="audio", shape=(rows, hidden), shard="replicated", linear=False))
        weights += norm("model.audio.final_norm", hidden, part="audio") if audio.flag("use_audio_norm") else []
    return tuple(towers), weights, tuple(modalities)
