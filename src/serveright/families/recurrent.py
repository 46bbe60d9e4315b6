"""Layers with a state of fixed size (gated delta rule, KDA, Mamba, lightning, short convolutions), by their fields alone.

State shapes are the whole model's, heads first, as engines allocate them: (value heads, value dim, key dim) for the delta rule, (heads, head dim, state size) for Mamba-2,
(inner width, state size) for Mamba-1. Convolutions keep kernel - 1 rows of all their channels.
"""

from typing import Literal

from msgspec.structs import replace

from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.types.model import Recurrent, Shard, Weight
from serveright.types.text import msg

STATE_DTYPE = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype", "ssm_cache_dtype", "recurrent_state_dtype", "ssm_state_dtype")
CONV = ("linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "conv_kernel_size", "short_conv_kernel_size", "d_conv")
MAMBA_HEADS = ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads")
MAMBA_DIM = ("mamba_head_dim", "mamba_d_head", "mamba_headdim", "hidden_size_per_head", "head_dim")
MAMBA_STATE = ("ssm_state_size", "mamba_d_state", "state_size")
MAMBA_GROUPS = ("mamba_n_groups", "mamba_ngroups", "n_groups", "ssm_n_groups")
MAMBA_INNER = ("mamba_d_ssm", "mamba_intermediate_size")
MAMBA_CHUNK = ("chunk_size", "mamba_chunk_size")
_MAMBA_NOISE = (
    "mamba_hidden_act",
    "mamba_proj_bias",
    "mamba_conv_bias",
    "use_mamba_kernels",
    "mamba_rms_norm",
    "mamba_norm_before_gate",
    "use_conv_bias",
    "num_logits_to_keep",
)
Kind = Literal["gated_deltanet", "kimi_delta", "mamba2", "mamba1", "short_conv", "lightning"]
_WORDS: dict[str, Kind | None] = {
    **dict.fromkeys(("recurrent", "linear", "linear_attention", "delta", "gated_deltanet", "gated_delta_net", "gdn"), None),
    **dict.fromkeys(("kda", "kimi_delta_attention", "kimi_delta"), "kimi_delta"),
    **dict.fromkeys(("mamba", "mamba2", "ssm", "mamba_layer"), "mamba2"),
    **dict.fromkeys(("conv", "short_conv", "lconv", "shortconv"), "short_conv"),
    **dict.fromkeys(("lightning", "lightning_attention", "lightning-attn", "lightning_attn"), "lightning"),
}
"""A layer list's word -> the kind it names; None: the fields decide."""
_MAMBA2_FIELDS = (*MAMBA_HEADS[:-1], *MAMBA_DIM[:3], *MAMBA_INNER)


def _any(f: Fields, keys: tuple[str, ...]) -> bool:
    return any(f.raw.get(key) is not None for key in keys)


def word_kind(f: Fields, word: str) -> Kind | None:
    """What a layer list's word names in this config, by the fields that are there; None where neither word nor fields are known."""
    word = word.lower()
    if word not in _WORDS:
        return None
    kind = _WORDS[word]
    if kind == "mamba2" or (kind is None and _any(f, MAMBA_STATE)):
        return "mamba2" if _any(f, _MAMBA2_FIELDS) else "mamba1" if _any(f, MAMBA_STATE) else None
    if kind is not None:
        return kind
    if _any(f, ("linear_num_value_heads",)):
        return "gated_deltanet"
    if isinstance(f.raw.get("linear_attn_config"), dict) or (_any(f, ("linear_num_heads", "linear_head_dim")) and _any(f, CONV)):
        return "kimi_delta"
    if _any(f, ("short_conv_kernel_size",)):
        return "kimi_delta"
    return "lightning" if _any(f, ("attn_type_list", "group_norm_size", "linear_silu", "use_linear_silu")) else None


def state_dtype(f: Fields) -> str | None:
    """The config's word for the state's number type, None where silent."""
    return f.text(*STATE_DTYPE)


def read_gated_delta(f: Fields, *, kernel: tuple[int, str] | None = None) -> Recurrent:
    """Gated delta rule (Qwen3-Next and after): key heads and value heads of their own."""
    k_heads, v_heads = f.integer("linear_num_key_heads"), f.integer("linear_num_value_heads")
    k_dim, v_dim = f.integer("linear_key_head_dim"), f.integer("linear_value_head_dim")
    rows = (f.int_or(kernel[0], kernel[1], "linear_conv_kernel_dim") if kernel else f.integer("linear_conv_kernel_dim")) - 1
    f.note(
        "linear_num_value_heads",
        msg("linear attention: a state of {heads} x {v} x {k} per layer and sequence, whatever the length", heads=v_heads, v=v_dim, k=k_dim),
    )
    return Recurrent(
        kind="gated_deltanet",
        state_heads=v_heads,
        state_shape=(v_heads, v_dim, k_dim),
        conv_channels=2 * k_heads * k_dim + v_heads * v_dim,
        conv_rows=rows,
        groups=k_heads,
        key_dim=k_dim,
        value_dim=v_dim,
        state_dtype=state_dtype(f),
    )


def gated_delta_weights(path: str, layer: int, hidden: int, m: Recurrent, *, fused: bool) -> list[Weight]:
    """Tensors under `path`. `fused`: Qwen3-Next's two input projections (qkvz, ba) instead of four."""
    keys, values = m.groups * m.key_dim, m.state_heads * m.value_dim
    sizes = (
        (("in_proj_qkvz", 2 * keys + 2 * values, m.groups), ("in_proj_ba", 2 * m.state_heads, m.groups))
        if fused
        else (
            ("in_proj_qkv", 2 * keys + values, m.groups),
            ("in_proj_z", values, m.state_heads),
            ("in_proj_b", m.state_heads, m.state_heads),
            ("in_proj_a", m.state_heads, m.state_heads),
        )
    )
    return [
        *(w for name, out, units in sizes for w in linear(f"{path}.{name}", "recurrent", out, hidden, "q_heads", layer=layer, units=units)),
        _conv(f"{path}.conv1d", layer, m.conv_channels, m.conv_rows + 1, units=m.groups),
        *_vectors(path, layer, m.state_heads, ("dt_bias", "A_log")),
        *norm(f"{path}.norm", m.value_dim, layer=layer),
        *linear(f"{path}.out_proj", "recurrent", hidden, values, "row", layer=layer, units=m.state_heads),
    ]


def _conv(path: str, layer: int, channels: int, kernel: int, *, units: int | None = None) -> Weight:
    return Weight(path=path, part="recurrent", shape=(channels, 1, kernel), shard="q_heads" if units else "column", units=units, linear=False, layer=layer)


def _vectors(path: str, layer: int, width: int, names: tuple[str, ...]) -> list[Weight]:
    shard: Shard = "column"
    return [Weight(path=f"{path}.{name}", part="recurrent", shape=(width,), shard=shard, linear=False, layer=layer) for name in names]


def read_kda(f: Fields, own: Fields | None = None) -> Recurrent:
    """Kimi delta attention. `own` is the object with its fields (`linear_attn_config`), the config itself where absent."""
    source = own or f
    heads = source.integer(*(("num_heads",) if own else ("linear_num_heads", "num_attention_heads")))
    dim = source.integer(*(("head_dim",) if own else ("linear_head_dim", "head_dim")))
    key_heads = source.opt_int("num_kv_heads", "num_k_heads") or heads
    kernel = source.integer(*CONV)
    source.note("head_dim", msg("Kimi delta attention: a state of {heads} x {dim} x {dim} per layer and sequence, whatever the length", heads=heads, dim=dim))
    source.ignore("gate_lower_bound", "kda_lower_bound", "linear_lower_bound", "use_full_rank_gate", "safe_gate")
    bound = next((source.raw[key] for key in ("gate_lower_bound", "kda_lower_bound", "linear_lower_bound") if source.raw.get(key) is not None), None)
    return Recurrent(
        kind="kimi_delta",
        state_heads=heads,
        state_shape=(heads, dim, dim),
        conv_channels=(heads + 2 * key_heads) * dim,
        conv_rows=kernel - 1,
        groups=key_heads,
        key_dim=dim,
        value_dim=dim,
        state_dtype=state_dtype(f),
        bounded_gate=isinstance(bound, (int, float)),
    )


def kda_weights(path: str, layer: int, hidden: int, m: Recurrent, *, full_gate: bool, full_decay: bool = False, decay_name: str = "f_proj") -> list[Weight]:
    """Tensors under `path`. `full_gate`: one output-gate matrix instead of two of low rank; `full_decay` the same for the decay."""
    values, keys = m.state_heads * m.value_dim, m.groups * m.key_dim
    heads = m.state_heads
    weights: list[Weight] = []
    for name, width, units in (("q", keys, m.groups), ("k", keys, m.groups), ("v", values, heads)):
        weights += linear(f"{path}.{name}_proj", "recurrent", width, hidden, "q_heads", layer=layer, units=units)
        weights.append(_conv(f"{path}.{name}_conv1d", layer, width, m.conv_rows + 1, units=units))
    weights += linear(f"{path}.b_proj", "recurrent", heads, hidden, "q_heads", layer=layer, units=heads)
    if full_decay:
        weights += linear(f"{path}.{decay_name}", "recurrent", values, hidden, "q_heads", layer=layer, units=heads)
    else:
        weights += linear(f"{path}.f_a_proj", "recurrent", m.value_dim, hidden, "replicated", layer=layer)
        weights += linear(f"{path}.f_b_proj", "recurrent", values, m.value_dim, "q_heads", layer=layer, units=heads)
    if full_gate:
        weights += linear(f"{path}.g_proj", "recurrent", values, hidden, "q_heads", layer=layer, units=heads)
    else:
        weights += linear(f"{path}.g_a_proj", "recurrent", m.value_dim, hidden, "replicated", layer=layer)
        weights += linear(f"{path}.g_b_proj", "recurrent", values, m.value_dim, "q_heads", layer=layer, units=heads)
    return [
        *weights,
        *_vectors(path, layer, values, ("dt_bias",)),
        *_vectors(path, layer, heads, ("A_log",)),
        *norm(f"{path}.o_norm", m.value_dim, layer=layer),
        *linear(f"{path}.o_proj", "recurrent", hidden, values, "row", layer=layer, units=heads),
    ]


def read_mamba2(f: Fields, hidden: int) -> Recurrent:
    """Mamba-2. Heads, head dim and inner width complete each other (`expand` gives the inner width where two are missing)."""
    dim = f.opt_int(*MAMBA_DIM[:-1]) or None
    heads = f.opt_int(*MAMBA_HEADS) or None
    inner = f.opt_int(*MAMBA_INNER) or None
    expand = f.opt_int("mamba_expand", "expand")
    if dim is None and heads is None:
        dim = f.integer(*MAMBA_DIM)
    if inner is None:
        inner = heads * dim if heads and dim else hidden * (expand or f.integer("mamba_expand", "expand"))
    heads = heads or inner // (dim or 1)
    dim = dim or inner // heads
    groups, state = f.opt_int(*MAMBA_GROUPS, minimum=1) or f.int_or(1, "transformers Mamba2Config", MAMBA_GROUPS[0]), f.integer(*MAMBA_STATE)
    f.ignore(*_MAMBA_NOISE, "time_step_rank", "mamba_dt_rank", "time_step_limit", "time_step_floor", "time_step_max", "time_step_min")
    key = next((k for k in MAMBA_STATE if f.raw.get(k) is not None), MAMBA_STATE[0])
    f.note(key, msg("Mamba-2: a state of {heads} x {dim} x {state} per layer and sequence, whatever the length", heads=heads, dim=dim, state=state))
    return Recurrent(
        kind="mamba2",
        state_heads=heads,
        state_shape=(heads, dim, state),
        conv_channels=inner + 2 * groups * state,
        conv_rows=f.integer(*CONV) - 1,
        groups=groups,
        key_dim=state,
        value_dim=dim,
        state_dtype=state_dtype(f),
        chunk_tokens=f.opt_int(*MAMBA_CHUNK) or None,
    )


def mamba2_weights(
    path: str, layer: int, hidden: int, m: Recurrent, *, conv_bias: bool = True, proj_bias: bool = False, gated_norm: bool = True
) -> list[Weight]:
    """Tensors under `path` (e.g. `backbone.layers.0.mixer`). What belongs to groups is listed apart: they are repeated where there are fewer than ranks."""
    inner, grouped = m.state_heads * m.value_dim, 2 * m.groups * m.key_dim
    conv = [
        _conv(f"{path}.conv1d", layer, m.conv_channels - grouped, m.conv_rows + 1),
        replace(_conv(f"{path}.conv1d", layer, grouped, m.conv_rows + 1), shard="kv_heads", units=m.groups),
    ]
    if conv_bias:
        conv += _vectors(path, layer, m.conv_channels, ("conv1d.bias",))
    return [
        *linear(f"{path}.in_proj", "recurrent", 2 * inner + m.state_heads, hidden, "column", layer=layer, units=m.state_heads, bias=proj_bias),
        *linear(f"{path}.in_proj", "recurrent", grouped, hidden, "kv_heads", layer=layer, units=m.groups, bias=proj_bias),
        *conv,
        *_vectors(path, layer, m.state_heads, ("A_log", "D", "dt_bias")),
        *(norm(f"{path}.norm", inner, layer=layer) if gated_norm else []),
        *linear(f"{path}.out_proj", "recurrent", hidden, inner, "row", layer=layer, units=m.state_heads, bias=proj_bias),
    ]


def read_mamba1(f: Fields, hidden: int, *, defaults: tuple[int, int, int, str] | None = None) -> Recurrent:
    """Mamba-1: the state has one row per inner channel. `defaults`: expand, state size, kernel and the class they come from."""
    inner = f.opt_int("intermediate_size_mamba", "mamba_intermediate_size", "d_inner")
    if defaults:
        expand, state, kernel, source = defaults
        inner = inner or hidden * f.int_or(expand, source, "mamba_expand", "expand")
        size, rows = f.int_or(state, source, "mamba_d_state", "state_size", "ssm_state_size"), f.int_or(kernel, source, *CONV)
    else:
        inner = inner or hidden * f.integer("mamba_expand", "expand")
        size, rows = f.integer("mamba_d_state", "state_size", "ssm_state_size"), f.integer(*CONV)
    f.ignore(*_MAMBA_NOISE)
    f.note("mamba_d_state", msg("Mamba: a state of {inner} x {state} per layer and sequence, whatever the length", inner=inner, state=size), size)
    return Recurrent(
        kind="mamba1",
        state_heads=inner,
        state_shape=(inner, size),
        conv_channels=inner,
        conv_rows=rows - 1,
        key_dim=size,
        value_dim=1,
        state_dtype=state_dtype(f),
    )


def mamba1_weights(
    path: str, layer: int, hidden: int, m: Recurrent, *, dt_rank: int, norms: bool, conv_bias: bool = True, proj_bias: bool = False
) -> list[Weight]:
    """Tensors under `path`. `norms`: Jamba's three norms on the step size and both state projections."""
    inner, state = m.state_shape
    weights = [
        *linear(f"{path}.in_proj", "recurrent", 2 * inner, hidden, "column", layer=layer, bias=proj_bias),
        _conv(f"{path}.conv1d", layer, inner, m.conv_rows + 1),
        *(_vectors(path, layer, inner, ("conv1d.bias",)) if conv_bias else []),
        *linear(f"{path}.x_proj", "recurrent", dt_rank + 2 * state, inner, "row", layer=layer),
        *linear(f"{path}.dt_proj", "recurrent", inner, dt_rank, "column", layer=layer, bias=True),
        Weight(path=f"{path}.A_log", part="recurrent", shape=(inner, state), shard="column", linear=False, layer=layer),
        *_vectors(path, layer, inner, ("D",)),
        *linear(f"{path}.out_proj", "recurrent", hidden, inner, "row", layer=layer, bias=proj_bias),
    ]
    for name, width in (("dt_layernorm", dt_rank), ("b_layernorm", state), ("c_layernorm", state)) if norms else ():
        weights += norm(f"{path}.{name}", width, layer=layer)
    return weights


def read_lightning(f: Fields, *, heads: int | None = None, dim: int | None = None) -> Recurrent:
    """Lightning attention: one square state per head, no convolution."""
    count = heads or f.integer("lightning_nkv", "num_attention_heads")
    side = dim or f.opt_int("lightning_head_dim", "head_dim", minimum=1) or f.integer("hidden_size") // f.integer("num_attention_heads")
    f.ignore("lightning_nh", "lightning_scale", "lightning_use_rope", "lightning_layerwise_decay")
    f.note(
        "num_attention_heads",
        msg("lightning attention: a state of {heads} x {dim} x {dim} per layer and sequence, whatever the length", heads=count, dim=side),
        count,
    )
    return Recurrent(
        kind="lightning",
        state_heads=count,
        state_shape=(count, side, side),
        conv_channels=0,
        conv_rows=0,
        groups=count,
        key_dim=side,
        value_dim=side,
        state_dtype=state_dtype(f),
    )


def read_short_conv(f: Fields, hidden: int) -> Recurrent:
    """A gated short convolution (LFM2): only its window is kept, no state."""
    kernel = f.integer("conv_L_cache", "conv_l_cache", *CONV)
    channels = f.opt_int("conv_dim") or hidden
    f.ignore("conv_bias", "conv_dim_out", "conv_use_xavier_init", "use_pos_enc")
    f.note("conv_L_cache", msg("short convolutions keep {rows} rows of {channels} channels per layer and sequence", rows=kernel - 1, channels=channels), kernel)
    return Recurrent(kind="short_conv", state_heads=0, state_shape=(), conv_channels=channels, conv_rows=kernel - 1)


def short_conv_weights(path: str, layer: int, hidden: int, m: Recurrent, *, bias: bool) -> list[Weight]:
    """Tensors under `path` (e.g. `model.layers.0.conv`)."""
    width = m.conv_channels
    return [
        *linear(f"{path}.in_proj", "recurrent", 3 * width, hidden, "column", layer=layer, bias=bias),
        _conv(f"{path}.conv", layer, width, m.conv_rows + 1),
        *(_vectors(path, layer, width, ("conv.bias",)) if bias else []),
        *linear(f"{path}.out_proj", "recurrent", hidden, width, "row", layer=layer, bias=bias),
    ]


def lightning_weights(path: str, layer: int, hidden: int, m: Recurrent) -> list[Weight]:
    """MiniMax's tensors under `path`: one input projection, an output gate, a norm over all heads."""
    width = m.state_heads * m.value_dim
    return [
        *linear(f"{path}.qkv_proj", "recurrent", 3 * width, hidden, "q_heads", layer=layer, units=m.state_heads),
        *linear(f"{path}.output_gate", "recurrent", width, hidden, "q_heads", layer=layer, units=m.state_heads),
        *norm(f"{path}.norm", width, layer=layer),
        *linear(f"{path}.out_proj", "recurrent", hidden, width, "row", layer=layer, units=m.state_heads),
    ]
