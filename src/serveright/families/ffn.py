"""Feed-forward blocks by their fields, whatever a config calls them: which layers are dense or MoE, how wide, and their weights."""

from typing import Any

from msgspec import Struct

from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.layer_ids import layer_ids, require_layer
from serveright.types.model import Ffn, Weight
from serveright.types.text import msg

EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts", "num_moe_experts", "num_routed_experts", "n_experts")
TOP_K = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_topk",
    "moe_top_k",
    "top_k_experts",
    "experts_per_token",
    "moe_k",
    "num_selected_experts",
    "router_topk",
    "experts_top_k",
)
WIDTH = (
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "expert_intermediate_size",
    "expert_hidden_dim",
    "moe_hidden_dim",
    "expert_dim",
)
SHARED_COUNT = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert", "n_shared_expert")
SHARED_WIDTH = ("moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim", "shared_expert_dim")
LATENT = ("moe_latent_size", "routed_expert_hidden_size")
GROUPS = ("n_group", "num_expert_group", "n_expert_groups")
DENSE_WIDTH = ("intermediate_size", "ffn_hidden_size", "dense_intermediate_size")


GATE_UP_DOWN = ("gate_proj", "up_proj", "down_proj")


class FfnNames(Struct, frozen=True, kw_only=True):
    """Module names of one dialect under a layer. `matrices` are gate, up and down."""

    block: str = "mlp"
    router: str = "gate"
    experts: str = "experts"
    shared: str = "shared_experts"
    matrices: tuple[str, str, str] = GATE_UP_DOWN
    shared_gate: str | None = None
    router_bias: str | None = None
    """Path of the router's correction bias under the block, e.g. `gate.e_score_correction_bias`."""
    latent: tuple[str, str] | None = None
    """Projections into and out of the latent width of the experts."""
    latent_norm: str | None = None
    fused: tuple[str, str] | None = None
    """Experts stored as two stacked tensors (gate and up together, down) instead of one matrix each."""
    router_linear_bias: bool = False
    expert_bias: bool = False
    dense_block: str | None = None
    """Block name of a dense layer where it differs from `block`."""
    outer_shared: bool = False
    """The shared expert stands beside the block, not inside it."""
    dense_bias: bool = False
    dense_fused: str | None = None
    """A dense MLP's gate and up stored as one matrix of this name."""


def _width(f: Fields, index: int, count: int, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        if isinstance(f.raw.get(key), list):
            widths = f.ints(key)
            if widths and len(widths) == count:
                return widths[index]
            return None
    return f.opt_int(*keys)


def layer_width(f: Fields, index: int, count: int, keys: tuple[str, ...]) -> int:
    """The width of one dense layer: a number for all or a list with one per layer. Raises InputError where it is missing."""
    width = _width(f, index, count, keys)
    return f.integer(*keys) if width is None else width


def read_moe(f: Fields, *, width_keys: tuple[str, ...] = WIDTH, gated: bool = True) -> Ffn | None:
    """The routed block, None where the config has no experts. One shared expert is implied by a shared width alone."""
    experts = f.opt_int(*EXPERTS)
    if not experts:
        f.ignore(*TOP_K, *SHARED_COUNT, *SHARED_WIDTH, *GROUPS, *WIDTH)
        return None
    width = f.integer(*width_keys)
    shared_width = f.opt_int(*SHARED_WIDTH)
    shared = f.opt_int(*SHARED_COUNT)
    if shared is None:
        shared = 1 if shared_width else 0
    key = next(k for k in EXPERTS if f.raw.get(k) is not None)
    top = f.integer(*TOP_K)
    zero = f.opt_int("zero_expert_num") or 0
    f.note(key, msg("mixture of experts: {top} of {experts} routed experts run per token, {shared} shared", top=top, experts=experts, shared=shared))
    if zero:
        f.note("zero_expert_num", msg("{count} more experts do nothing and cost no weights", count=zero))
    latent = f.opt_int(*LATENT)
    if latent:
        name = next(k for k in LATENT if f.raw.get(k) is not None)
        f.note(name, msg("experts work on a latent of width {width} instead of the hidden size", width=latent))
    return Ffn(
        kind="moe",
        intermediate=width,
        experts=experts,
        experts_per_token=top,
        shared_experts=shared,
        shared_intermediate=(shared_width or width) if shared else 0,
        latent_dim=latent,
        zero_experts=zero,
        gated=gated,
        expert_groups=f.opt_int(*GROUPS),
    )


def sparse_layers(f: Fields, count: int) -> tuple[bool, ...]:
    """Which of `count` layers hold experts, by any of the spellings: a list of types or flags, named layers, a frequency, leading dense layers, period and offset."""
    listed = _listed(f, count)
    if listed is not None:
        return listed
    every = f.opt_int("moe_layer_freq", "moe_every_n_layers") or 1
    first = _one(f, "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", "dense_mlp_idx") or 0
    last = _one(f, "moe_layer_end_index")
    step = f.opt_int("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval") or 1
    dense = layer_ids(f, "mlp_only_layers", count) or frozenset()
    period, offset = f.opt_int("expert_layer_period") or 1, f.opt_int("expert_layer_offset") or 0
    end = count - 1 if last is None else last
    return tuple(first <= i <= end and i % every == 0 and (i + 1) % step == 0 and i not in dense and i % period == offset % period for i in range(count))


def _one(f: Fields, *keys: str) -> int | None:
    """A number; of a list only the first, reported."""
    for key in keys:
        if isinstance(f.raw.get(key), list):
            values = f.ints(key) or ()
            f.unknown(key, msg("a list where one number is expected; the first is taken"))
            return max(0, values[0]) if values else None
    return f.opt_int(*keys)


def _listed(f: Fields, count: int) -> tuple[bool, ...] | None:
    """Layers with experts where the config lists them: a type or flag a layer, or the layers' numbers."""
    for key in ("mlp_layer_types", "moe_layer_freq", "is_moe_layer"):
        if isinstance(f.raw.get(key), list):
            marks = f.items(key) or []
            f.ignore("moe_layer_freq", "first_k_dense_replace", "mlp_only_layers", "decoder_sparse_step")
            if len(marks) >= count:
                return tuple(mark not in ("dense", "mlp", 0, False) for mark in marks[:count])
            f.unknown(key, msg("{given} entries for {count} layers", given=len(marks), count=count))
            return (True,) * count
    named = f.raw.get("moe_layers_enum")
    if isinstance(named, str):
        numbers = {int(word) for word in (part.strip() for part in named.split(",")) if word.isdecimal() and len(word) < 6}
        for number in sorted(numbers):
            require_layer(f, "moe_layers_enum", number, count)
        f.note("moe_layers_enum", msg("{count} layers hold experts", count=len(numbers)))
        return tuple(i in numbers for i in range(count))
    if isinstance(f.raw.get("moe_layers"), list):
        numbers = layer_ids(f, "moe_layers", count) or frozenset()
        return tuple(i in numbers for i in range(count))
    return None


def plan(
    f: Fields,
    count: int,
    *,
    dense_keys: tuple[str, ...] = DENSE_WIDTH,
    width_keys: tuple[str, ...] = WIDTH,
    gated: bool = True,
) -> tuple[Ffn, ...]:
    """The FFN of every layer. Raises InputError where a dense layer's width is missing."""
    lists = [key for key in (*EXPERTS, *TOP_K, *SHARED_COUNT, *WIDTH, *SHARED_WIDTH) if isinstance(f.raw.get(key), list)]
    if lists:
        return _by_layer(f, count, lists, dense_keys=dense_keys, width_keys=width_keys, gated=gated)
    moe = read_moe(f, width_keys=width_keys, gated=gated)
    sparse = sparse_layers(f, count) if moe else (False,) * count
    result: list[Ffn] = []
    for i in range(count):
        if moe and sparse[i]:
            result.append(moe)
        else:
            width = _width(f, i, count, dense_keys)
            result.append(Ffn(kind="dense", intermediate=f.integer(*dense_keys) if width is None else width, gated=gated))
    if moe and all(sparse):
        f.ignore(*dense_keys)
    return tuple(result)


def _by_layer(f: Fields, count: int, lists: list[str], *, dense_keys: tuple[str, ...], width_keys: tuple[str, ...], gated: bool) -> tuple[Ffn, ...]:
    """The same where experts, width or top-k are lists with one entry a layer."""
    columns = {key: _column(f, key, count) for key in lists}
    result: list[Ffn] = []
    for i in range(count):
        one = Fields({**f.raw, **{key: values[i] for key, values in columns.items()}}, f.path)
        result.append(plan(one, count, dense_keys=dense_keys, width_keys=width_keys, gated=gated)[i])
        if i == 0:
            f.adopt(one)
    return tuple(result)


def _column(f: Fields, key: str, count: int) -> list[Any]:
    """One value a layer; a list of another length is reported and its first entry taken for all."""
    values = f.items(key) or [None]
    if len(values) >= count:
        return values
    f.unknown(key, msg("{given} entries for {count} layers; the first is taken for all", given=len(values), count=count))
    return values[:1] * count


def experts(path: str, layer: int, into: int, ffn: Ffn, names: FfnNames) -> list[Weight]:
    """Routed experts under `path`, one entry a matrix with `copies` = number of experts; `into` is the latent width where there is one."""
    gate, up, down = names.matrices
    shape = (ffn.intermediate, into)
    if names.fused:
        up, down = names.fused
        shape = (2 * ffn.intermediate if ffn.gated else ffn.intermediate, into)
    entries = [(gate, shape)] if ffn.gated and not names.fused else []
    entries += [(up, shape), (down, (into, ffn.intermediate))]
    weights: list[Weight] = []
    for name, sides in entries:
        weights.append(Weight(path=f"{path}.*.{name}", part="experts", shape=sides, shard="experts", copies=ffn.experts, units=ffn.experts, layer=layer))
        if names.expert_bias:
            weights.append(
                Weight(
                    path=f"{path}.*.{name}.bias",
                    part="experts",
                    shape=sides[:1],
                    shard="experts",
                    copies=ffn.experts,
                    units=ffn.experts,
                    linear=False,
                    layer=layer,
                )
            )
    return weights


def weights(path: str, layer: int, hidden: int, ffn: Ffn, names: FfnNames) -> list[Weight]:
    """All tensors of one FFN of the layer at `path` (e.g. `model.layers.3`)."""
    root = f"{path}.{names.block}"
    if ffn.kind == "dense":
        return dense(f"{path}.{names.dense_block or names.block}", layer, hidden, ffn, names)
    count = ffn.experts + ffn.zero_experts
    result = [Weight(path=f"{root}.{names.router}", part="router", shape=(count, hidden), shard="replicated", layer=layer)]
    if names.router_linear_bias:
        result.append(Weight(path=f"{root}.{names.router}.bias", part="router", shape=(count,), shard="replicated", linear=False, layer=layer))
    if names.router_bias:
        result.append(Weight(path=f"{root}.{names.router_bias}", part="router", shape=(count,), shard="replicated", linear=False, layer=layer))
    result += experts(f"{root}.{names.experts}", layer, ffn.latent_dim or hidden, ffn, names)
    if ffn.latent_dim and names.latent:
        result += linear(f"{root}.{names.latent[0]}", "experts", ffn.latent_dim, hidden, "replicated", layer=layer)
        result += linear(f"{root}.{names.latent[1]}", "experts", hidden, ffn.latent_dim, "replicated", layer=layer)
        if names.latent_norm:
            result += norm(f"{root}.{names.latent_norm}", ffn.latent_dim, layer=layer)
    if ffn.shared_experts:
        width = ffn.shared_experts * ffn.shared_intermediate
        result += dense(
            f"{path if names.outer_shared else root}.{names.shared}", layer, hidden, Ffn(kind="dense", intermediate=width, gated=ffn.gated), names, shared=True
        )
        if names.shared_gate:
            result.append(Weight(path=f"{root}.{names.shared_gate}", part="shared_experts", shape=(1, hidden), shard="replicated", layer=layer))
    return result


def dense(path: str, layer: int, hidden: int, ffn: Ffn, names: FfnNames, *, shared: bool = False) -> list[Weight]:
    """A dense MLP, or the shared experts as one MLP, under `path`."""
    part = "shared_experts" if shared else "mlp"
    gate, up, down = names.matrices if names.dense_block is None else GATE_UP_DOWN
    bias = names.dense_bias
    if names.dense_fused and ffn.gated:
        result = linear(f"{path}.{names.dense_fused}", part, 2 * ffn.intermediate, hidden, "column", layer=layer, bias=bias)
    else:
        result = linear(f"{path}.{gate}", part, ffn.intermediate, hidden, "column", layer=layer, bias=bias) if ffn.gated else []
        result += linear(f"{path}.{up}", part, ffn.intermediate, hidden, "column", layer=layer, bias=bias)
    return result + linear(f"{path}.{down}", part, hidden, ffn.intermediate, "row", layer=layer, bias=bias)
