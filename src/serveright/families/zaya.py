"""ZAYA1: attention over convolved queries and keys (CCA), whose last inputs are kept beside the rows, taking turns with experts behind a small router network."""

from msgspec import Struct

from serveright.families import attention
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Part, Recurrent, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"ZayaForCausalLM"})
_SOURCE = "SGLang 0.5.23 ZayaConfig"


class _Plan(Struct, frozen=True, kw_only=True):
    frame: Frame
    full: Attention
    kernels: tuple[int, int]
    moe: Ffn
    router: int


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), tied=True)
    text = frame.text
    native = text.raw.get("layer_types") is not None
    listed = text.items("zaya_layers")
    count = len(listed) if listed else layer_count(text)
    text.ignore("num_hidden_layers", "num_query_groups", "swa_layers", "layer_types", "cca", "kv_channels")
    heads = attention.base_heads(text, frame.hidden, attention.Defaults(source=_SOURCE, kv_heads=2, head_dim=128))
    text.note(
        "num_key_value_heads", msg("the attention layers keep K and V rows for {kv} heads; {query} query heads share them", kv=heads.kv, query=heads.query)
    )
    wide = text.opt_int("moe_intermediate_size") or text.integer("ffn_hidden_size", minimum=2) // 2
    plan = _Plan(
        frame=frame,
        full=Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim),
        kernels=(text.int_or(2, _SOURCE, "cca_time0", minimum=1), text.int_or(2, _SOURCE, "cca_time1", minimum=1)),
        moe=Ffn(
            kind="moe",
            intermediate=wide,
            experts=text.integer("num_experts"),
            experts_per_token=text.int_or(1, _SOURCE, "moe_router_topk", "num_experts_per_tok"),
        ),
        router=text.int_or(256, _SOURCE, "zaya_mlp_expansion", "router_hidden_size", minimum=1),
    )
    attends = [word == "a" for word in listed] if listed else [native or i % 2 == 0 for i in range(count)]
    text.note("zaya_layers", msg("{full} of {count} layers hold attention", full=sum(attends), count=count), sum(attends))
    blocks = [_block(plan, i, attend, moe=native or not attend) for i, attend in enumerate(attends)]
    return close_frame(frame, files, dialect="zaya", blocks=blocks, extra=edges(frame))


def _block(plan: _Plan, i: int, attend: bool, *, moe: bool) -> Block:
    path, hidden = f"{plan.frame.root}layers.{i}", plan.frame.hidden
    weights = norm(f"{path}.input_norm", hidden, layer=i)
    weights += [
        w
        for name in ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")
        for w in norm(f"{path}.res_scale.{name}", hidden, layer=i)
    ]
    weights += _attention(plan, f"{path}.self_attn", i) if attend else []
    weights += _experts(plan, f"{path}.zaya_block", i) if moe else []
    return Block(layer=Layer(index=i, mixers=_mixers(plan) if attend else (), ffns=(plan.moe,) if moe else ()), weights=weights)


def _mixers(plan: _Plan) -> tuple[Attention | Recurrent, ...]:
    """Rows, the last inputs of both convolutions, and the last hidden state, which every GPU keeps whole."""
    channels, rows = (plan.full.query_heads + plan.full.kv_heads) * plan.full.head_dim, sum(plan.kernels) - 2
    conv = Recurrent(kind="short_conv", state_heads=0, state_shape=(), conv_channels=channels, conv_rows=rows)
    last = Recurrent(kind="short_conv", state_heads=0, state_shape=(), conv_channels=plan.frame.hidden, conv_rows=1, replicated=True)
    return (plan.full, conv, last)


def _attention(plan: _Plan, path: str, i: int) -> list[Weight]:
    m, hidden = plan.full, plan.frame.hidden
    q, k = m.query_heads * m.head_dim, m.kv_heads * m.head_dim
    first, second = plan.kernels
    part: Part = "attention"
    sizes = ((q + k, 1, first), (q + k,), (q + k, m.head_dim, second), (q + k,))
    names = ("conv_qk.0", "conv_qk.0.bias", "conv_qk.1", "conv_qk.1.bias")
    return [
        *linear(f"{path}.qkv.linear_q", part, q, hidden, "q_heads", layer=i, units=m.query_heads),
        *linear(f"{path}.qkv.linear_k", part, k, hidden, "kv_heads", layer=i, units=m.kv_heads),
        *(w for name in ("val_proj1", "val_proj2") for w in linear(f"{path}.qkv.{name}", part, k // 2, hidden, "replicated", layer=i)),
        *(Weight(path=f"{path}.qkv.{name}", part=part, shape=size, shard="column", linear=False, layer=i) for name, size in zip(names, sizes, strict=True)),
        Weight(path=f"{path}.qkv.temp", part=part, shape=(m.kv_heads,), shard="column", linear=False, layer=i),
        *linear(f"{path}.o_proj", part, hidden, q, "row", layer=i, units=m.query_heads),
    ]


def _experts(plan: _Plan, path: str, i: int) -> list[Weight]:
    text, hidden, moe, wide = plan.frame.text, plan.frame.hidden, plan.moe, plan.router
    places = moe.experts + int(text.flag("zaya_use_mod", default=True))
    router = [
        *linear(f"{path}.router.down_proj", "router", wide, hidden, "replicated", layer=i, bias=True),
        *norm(f"{path}.router.rmsnorm_eda", wide, layer=i, part="router"),
        *norm(f"{path}.router.router_states_scale", wide, layer=i, part="router"),
        *(w for name in ("0", "2") for w in linear(f"{path}.router.router_mlp.{name}", "router", wide, wide, "replicated", layer=i, bias=True)),
        *linear(f"{path}.router.router_mlp.4", "router", places, wide, "replicated", layer=i),
    ]
    return [
        *router,
        Weight(path=f"{path}.experts.*.linear_fc1", part="experts", shape=(2 * moe.intermediate, hidden), shard="experts", copies=moe.experts, layer=i),
        Weight(path=f"{path}.experts.*.linear_fc2", part="experts", shape=(hidden, moe.intermediate), shard="experts", copies=moe.experts, layer=i),
    ]
