"""Decoders that mix Mamba, lightning or short convolutions with GQA and differ only in names: Granite 4, Bamba, Falcon-H1, Jamba, LFM2, MiniMax-M1, pure Mamba."""

from collections.abc import Callable

from msgspec import Struct

from serveright.families import ffn as feed
from serveright.families import hybrid, recurrent
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Ffn, Layer, Mixer, ModelShape, Recurrent, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg


class Style(Struct, frozen=True, kw_only=True):
    """Names and small parts of one model class. `mixer_only`: layers without an FFN (pure Mamba)."""

    source: str
    root: str = "model."
    embed: str = "embed_tokens"
    final: str = "norm"
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    attn: str = "self_attn"
    out: str = "o_proj"
    qk_norms: tuple[str, str] | None = None
    state: str = "mamba"
    names: feed.FfnNames = feed.FfnNames()
    width_keys: tuple[str, ...] = feed.WIDTH
    both: bool = False
    mixer_only: bool = False
    tied: bool = False
    mamba1: tuple[int, int, int] | None = None
    """Class defaults of Mamba-1: expand, state size, kernel."""
    mamba1_norms: bool = False
    gated_norm: bool = True


_GRANITE = Style(source="transformers 5.12 GraniteMoeHybridConfig", width_keys=("intermediate_size",), names=feed.FfnNames(block="block_sparse_moe"))
_BAMBA = Style(
    source="transformers 5.12 BambaConfig", norms=("input_layernorm", "pre_ff_layernorm"), final="final_layernorm", names=feed.FfnNames(block="feed_forward")
)
_JAMBA = Style(
    source="transformers 5.12 JambaConfig",
    norms=("input_layernorm", "pre_ff_layernorm"),
    final="final_layernorm",
    names=feed.FfnNames(block="feed_forward", router="router"),
    width_keys=("moe_intermediate_size", "intermediate_size"),
    mamba1=(2, 16, 4),
    mamba1_norms=True,
)
_FALCON = Style(
    source="transformers 5.12 FalconH1Config",
    norms=("input_layernorm", "pre_ff_layernorm"),
    final="final_layernorm",
    names=feed.FfnNames(block="feed_forward"),
    both=True,
)
_LFM2 = Style(
    source="transformers 5.12 Lfm2Config",
    norms=("operator_norm", "ffn_norm"),
    final="embedding_norm",
    out="out_proj",
    qk_norms=("q_layernorm", "k_layernorm"),
    state="conv",
    names=feed.FfnNames(block="feed_forward", matrices=("w1", "w3", "w2")),
    tied=True,
)
_LFM3 = Style(
    source="transformers 5.24 Lfm3Config",
    norms=("operator_norm", "ffn_norm"),
    final="embedding_norm",
    qk_norms=("q_norm", "k_norm"),
    state="conv",
    names=feed.FfnNames(block="feed_forward", matrices=("w1", "w3", "w2")),
    tied=True,
)
_MINIMAX = Style(
    source="MiniMax-M1 configuration_minimax_m1",
    state="self_attn",
    names=feed.FfnNames(block="block_sparse_moe", matrices=("w1", "w3", "w2")),
    width_keys=("intermediate_size",),
)
_MAMBA1 = Style(
    source="transformers 5.12 MambaConfig",
    root="backbone.",
    embed="embeddings",
    final="norm_f",
    norms=("norm",),
    state="mixer",
    mixer_only=True,
    tied=True,
    mamba1=(2, 16, 4),
)
_MAMBA2 = Style(source="transformers 5.12 Mamba2Config", root="backbone.", embed="embeddings", final="norm_f", norms=("norm",), state="mixer", mixer_only=True)
_STYLES = {
    "GraniteMoeHybridForCausalLM": _GRANITE,
    "BambaForCausalLM": _BAMBA,
    "JambaForCausalLM": _JAMBA,
    "FalconH1ForCausalLM": _FALCON,
    "Lfm2ForCausalLM": _LFM2,
    "Lfm2MoeForCausalLM": _LFM2,
    "Lfm3ForCausalLM": _LFM3,
    "MiniMaxM1ForCausalLM": _MINIMAX,
    "MiniMaxText01ForCausalLM": _MINIMAX,
    "MiniMaxForCausalLM": _MINIMAX,
    "MambaForCausalLM": _MAMBA1,
    "FalconMambaForCausalLM": _MAMBA1,
    "Mamba2ForCausalLM": _MAMBA2,
}
ARCHITECTURES = frozenset(_STYLES)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    style = _STYLES[files.config["architectures"][0]]
    frame = open_frame(fields, text_of(fields), root=style.root, tied=style.tied)
    text = frame.text
    count = layer_count(text, "layer_types", "attn_type_list")
    mixers = _mixers(frame, style, count)
    ffns = [()] * count if style.mixer_only else _ffns(text, count, style)
    parts = _Parts(text, style)
    blocks = [_block(frame, style, i, mixers[i], ffns[i], parts) for i in range(count)]
    return close_frame(frame, files, dialect="state_mixes", blocks=blocks, extra=edges(frame, embed=style.embed, final=style.final))


def _mixers(frame: Frame, style: Style, count: int) -> list[tuple[Mixer, ...]]:
    text, hidden = frame.text, frame.hidden
    if style.both:
        attention = hybrid.softmax(text, hidden, count, "full", style.source)
        text.note("mamba_d_state", msg("every layer holds a Mamba mixer and attention side by side"))
        pair = (recurrent.read_mamba2(text, hidden), *([attention] if attention else []))
        return [pair] * count
    if style.mixer_only:
        mamba1 = (*style.mamba1, style.source) if style.mamba1 else None
        own = recurrent.read_mamba1(text, hidden, defaults=mamba1) if mamba1 else recurrent.read_mamba2(text, hidden)
        return [(own,)] * count
    if not style.mamba1:
        return hybrid.mixers(text, hidden, count, source=style.source)
    words = hybrid.words(text, count) or _jamba_words(text, count)
    own = recurrent.read_mamba1(text, hidden, defaults=(*style.mamba1, style.source))
    attention = hybrid.softmax(text, hidden, count, "full", style.source)
    return [(attention,) if word == "full" and attention else (own,) for word in words]


def _jamba_words(text: Fields, count: int) -> list[str]:
    period, offset = text.integer("attn_layer_period"), text.opt_int("attn_layer_offset") or 0
    words = ["full" if i % period == offset % period else "recurrent" for i in range(count)]
    text.note(
        "attn_layer_period", msg("hybrid: {linear} linear and {full} softmax attention layers", linear=words.count("recurrent"), full=words.count("full"))
    )
    return words


def _ffns(text: Fields, count: int, style: Style) -> list[tuple[Ffn, ...]]:
    """FFNs of every layer: Granite's shared MLP alone where it has no experts, LFM2's width after its own rounding."""
    if style is _GRANITE and not text.opt_int(*feed.EXPERTS):
        return [(Ffn(kind="dense", intermediate=text.integer("shared_intermediate_size", "intermediate_size")),)] * count
    if style is _LFM2:
        text.ignore(
            "block_multiple_of", "block_ffn_dim_multiplier", "block_norm_eps", "block_use_swiglu", "block_use_xavier_init", "block_dim", "block_mlp_init_scale"
        )
        if text.flag("block_auto_adjust_ff_dim"):
            return [(Ffn(kind="dense", intermediate=_adjusted(text)),)] * count
        return [(ffn,) for ffn in feed.plan(text, count, dense_keys=("intermediate_size", "block_ff_dim"), width_keys=style.width_keys)]
    return [(ffn,) for ffn in feed.plan(text, count, width_keys=style.width_keys)]


def _adjusted(text: Fields) -> int:
    """LFM2 rounds two thirds of the given width up to a multiple."""
    width = 2 * text.integer("block_ff_dim", "intermediate_size") // 3
    factor = text.raw.get("block_ffn_dim_multiplier")
    if isinstance(factor, (int, float)) and not isinstance(factor, bool):
        width = int(factor * width)
    step = text.integer("block_multiple_of")
    text.note("block_auto_adjust_ff_dim", msg("the FFN width is two thirds of the given one, rounded up to a multiple of {step}", step=step))
    return -(-width // step) * step


class _Parts:
    """Biases and small widths that the weights need."""

    def __init__(self, text: Fields, style: Style) -> None:
        self.conv_bias = text.flag("mamba_conv_bias", "use_conv_bias", default=True)
        self.proj_bias = text.flag("mamba_proj_bias", "use_bias")
        self.short_bias = text.flag("conv_bias")
        self.head_gate = text.flag("use_attention_gate")
        self.behind = ("post_operator_norm", "post_ffn_norm") if text.flag("use_sandwich_norm") else ()
        self.gated_norm = text.flag("mamba_rms_norm", default=style.gated_norm)
        rank = text.raw.get("mamba_dt_rank", text.raw.get("time_step_rank"))
        text.ignore("mamba_dt_rank", "time_step_rank", "postnorm", "shared_moe_mode", "rotary_dim", "use_expert_bias")
        text.ignore(*(f"layernorm_{kind}_{end}" for kind in ("full_attention", "linear_attention", "mlp") for end in ("alpha", "beta")))
        hidden = text.integer("hidden_size", "d_model", "n_embd")
        self.dt_rank = rank if isinstance(rank, int) and not isinstance(rank, bool) else -(-hidden // 16)
        self.expert_bias = text.raw.get("use_expert_bias") is True


def _block(frame: Frame, style: Style, i: int, mixers: tuple[Mixer, ...], ffns: tuple[Ffn, ...], parts: _Parts) -> Block:
    path, hidden = f"{frame.root}layers.{i}", frame.hidden
    weights = [w for name in (*style.norms, *parts.behind) for w in norm(f"{path}.{name}", hidden, layer=i)]
    for mixer in mixers:
        weights += _mixer(style, path, i, hidden, mixer, parts)
    for ffn in ffns:
        weights += _granite(path, i, hidden, ffn) if style is _GRANITE else feed.weights(path, i, hidden, ffn, style.names)
        if parts.expert_bias and ffn.kind == "moe":
            weights.append(
                Weight(path=f"{path}.{style.names.block}.expert_bias", part="router", shape=(ffn.experts,), shard="replicated", linear=False, layer=i)
            )
    return Block(layer=Layer(index=i, mixers=mixers, ffns=ffns), weights=weights)


def _mixer(style: Style, path: str, i: int, hidden: int, mixer: Mixer, parts: _Parts) -> list[Weight]:
    if isinstance(mixer, Attention):
        weights = gqa(f"{path}.{style.attn}", i, hidden, mixer.query_heads, mixer.kv_heads, mixer.head_dim)
        weights[-1] = linear(
            f"{path}.{style.attn}.{style.out}", "attention", hidden, mixer.query_heads * mixer.head_dim, "row", layer=i, units=mixer.query_heads
        )[0]
        if parts.head_gate:
            weights += linear(f"{path}.{style.attn}.g_proj", "attention", mixer.query_heads, hidden, "q_heads", layer=i, units=mixer.query_heads)
        return weights + [w for name in style.qk_norms or () for w in norm(f"{path}.{style.attn}.{name}", mixer.head_dim, layer=i)]
    if isinstance(mixer, (UnknownMixer,)) or not isinstance(mixer, Recurrent):
        return []
    makers: dict[str, Callable[[str], list[Weight]]] = {
        "mamba2": lambda at: recurrent.mamba2_weights(at, i, hidden, mixer, conv_bias=parts.conv_bias, proj_bias=parts.proj_bias, gated_norm=parts.gated_norm),
        "mamba1": lambda at: recurrent.mamba1_weights(
            at, i, hidden, mixer, dt_rank=parts.dt_rank, norms=style.mamba1_norms, conv_bias=parts.conv_bias, proj_bias=parts.proj_bias
        ),
        "short_conv": lambda at: recurrent.short_conv_weights(at, i, hidden, mixer, bias=parts.short_bias),
        "lightning": lambda at: recurrent.lightning_weights(at, i, hidden, mixer),
    }
    return makers[mixer.kind](f"{path}.{style.state}") if mixer.kind in makers else []


def _granite(path: str, i: int, hidden: int, ffn: Ffn) -> list[Weight]:
    """Granite keeps gate and up in one matrix, for all experts in one tensor."""
    weights: list[Weight] = []
    width = ffn.intermediate
    if ffn.kind == "moe":
        root = f"{path}.block_sparse_moe"
        weights.append(Weight(path=f"{root}.router.layer", part="router", shape=(ffn.experts, hidden), shard="replicated", layer=i))
        for name, sides in (("input_linear", (2 * width, hidden)), ("output_linear", (hidden, width))):
            weights.append(Weight(path=f"{root}.{name}", part="experts", shape=sides, shard="experts", copies=ffn.experts, units=ffn.experts, layer=i))
        width = ffn.shared_experts * ffn.shared_intermediate
    if width:
        part = "shared_experts" if ffn.kind == "moe" else "mlp"
        weights += linear(f"{path}.shared_mlp.input_linear", part, 2 * width, hidden, "column", layer=i)
        weights += linear(f"{path}.shared_mlp.output_linear", part, hidden, width, "row", layer=i)
    return weights
