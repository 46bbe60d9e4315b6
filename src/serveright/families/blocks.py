"""Weights of the blocks that many dialects share. Every function returns tensors under checkpoint module paths; shapes are (out, in)."""

from serveright.types.model import Ffn, Part, Shard, Weight


def linear(path: str, part: Part, out: int, into: int, shard: Shard, *, layer: int | None = None, units: int | None = None, bias: bool = False) -> list[Weight]:
    """One linear, with its bias where the model has one."""
    weights = [Weight(path=path, part=part, shape=(out, into), shard=shard, units=units, layer=layer)]
    if bias:
        rule: Shard = shard if shard in ("column", "q_heads", "kv_heads", "vocab") else "replicated"
        weights.append(Weight(path=f"{path}.bias", part=part, shape=(out,), shard=rule, units=units, layer=layer, linear=False))
    return weights


def norm(path: str, width: int, *, layer: int | None = None, bias: bool = False, part: Part = "norm") -> list[Weight]:
    """A norm's scale, replicated on every rank."""
    weights = [Weight(path=path, part=part, shape=(width,), shard="replicated", linear=False, layer=layer)]
    if bias:
        weights.append(Weight(path=f"{path}.bias", part=part, shape=(width,), shard="replicated", linear=False, layer=layer))
    return weights


def embeddings(vocab: int, hidden: int, *, tied: bool, prefix: str = "model.", head: str = "lm_head") -> list[Weight]:
    """Input table and, unless tied, the output head."""
    weights = [Weight(path=f"{prefix}embed_tokens", part="embed", shape=(vocab, hidden), shard="vocab", linear=False)]
    if not tied:
        weights.append(Weight(path=head, part="head", shape=(vocab, hidden), shard="vocab"))
    return weights


def gqa(
    path: str,
    layer: int,
    hidden: int,
    query_heads: int,
    kv_heads: int,
    head_dim: int,
    v_head_dim: int | None = None,
    *,
    bias: bool = False,
    out_bias: bool = False,
) -> list[Weight]:
    """q, k, v and o projections under `path` (e.g. `model.layers.3.self_attn`)."""
    v_dim = v_head_dim or head_dim
    return [
        *linear(f"{path}.q_proj", "attention", query_heads * head_dim, hidden, "q_heads", layer=layer, units=query_heads, bias=bias),
        *linear(f"{path}.k_proj", "attention", kv_heads * head_dim, hidden, "kv_heads", layer=layer, units=kv_heads, bias=bias),
        *linear(f"{path}.v_proj", "attention", kv_heads * v_dim, hidden, "kv_heads", layer=layer, units=kv_heads, bias=bias),
        *linear(f"{path}.o_proj", "attention", hidden, query_heads * v_dim, "row", layer=layer, units=query_heads, bias=out_bias),
    ]


def fused_qkv(path: str, layer: int, hidden: int, query_heads: int, kv_heads: int, head_dim: int, v_head_dim: int, *, bias: bool = False) -> list[Weight]:
    """q, k and v as one matrix at `path`, listed in two parts: query heads are dealt to ranks, KV heads repeated where there are fewer than ranks."""
    return [
        *linear(path, "attention", query_heads * head_dim, hidden, "q_heads", layer=layer, units=query_heads, bias=bias),
        *linear(path, "attention", kv_heads * (head_dim + v_head_dim), hidden, "kv_heads", layer=layer, units=kv_heads, bias=bias),
    ]


def mlp(path: str, layer: int | None, hidden: int, intermediate: int, *, gated: bool = True, bias: bool = False, part: Part = "mlp") -> list[Weight]:
    """A dense MLP: gate and up (or up alone) and down."""
    names = ("gate_proj", "up_proj") if gated else ("up_proj",)
    weights = [w for name in names for w in linear(f"{path}.{name}", part, intermediate, hidden, "column", layer=layer, bias=bias)]
    return weights + linear(f"{path}.down_proj", part, hidden, intermediate, "row", layer=layer, bias=bias)


def experts(path: str, layer: int, into: int, ffn: Ffn) -> list[Weight]:
    """Routed experts under `path` (e.g. `model.layers.3.mlp.experts`), one entry a matrix with `copies` = number of experts; `into` is the latent width where there is one."""
    names = ("gate_proj", "up_proj") if ffn.gated else ("up_proj",)
    weights = [
        Weight(path=f"{path}.*.{name}", part="experts", shape=(ffn.intermediate, into), shard="experts", copies=ffn.experts, units=ffn.experts, layer=layer)
        for name in names
    ]
    return [
        *weights,
        Weight(path=f"{path}.*.down_proj", part="experts", shape=(into, ffn.intermediate), shard="experts", copies=ffn.experts, units=ffn.experts, layer=layer),
    ]


def router(path: str, layer: int, hidden: int, count: int, *, bias: bool = False) -> list[Weight]:
    """The router's matrix and, where the model has one, its correction bias; replicated, never quantised."""
    weights = [Weight(path=path, part="router", shape=(count, hidden), shard="replicated", layer=layer)]
    if bias:
        weights.append(Weight(path=f"{path}.e_score_correction_bias", part="router", shape=(count,), shard="replicated", linear=False, layer=layer))
    return weights


def mla(path: str, layer: int, hidden: int, heads: int, *, q_lora: int | None, kv_lora: int, nope: int, rope: int, v_dim: int) -> list[Weight]:
    """DeepSeek's latent attention: q (through q_lora where set), the shared latent row, its expansion and o."""
    if q_lora:
        weights = [
            *linear(f"{path}.q_a_proj", "attention", q_lora, hidden, "replicated", layer=layer),
            *norm(f"{path}.q_a_layernorm", q_lora, layer=layer),
            *linear(f"{path}.q_b_proj", "attention", heads * (nope + rope), q_lora, "q_heads", layer=layer, units=heads),
        ]
    else:
        weights = linear(f"{path}.q_proj", "attention", heads * (nope + rope), hidden, "q_heads", layer=layer, units=heads)
    return [
        *weights,
        *linear(f"{path}.kv_a_proj_with_mqa", "attention", kv_lora + rope, hidden, "replicated", layer=layer),
        *norm(f"{path}.kv_a_layernorm", kv_lora, layer=layer),
        *linear(f"{path}.kv_b_proj", "attention", heads * (nope + v_dim), kv_lora, "q_heads", layer=layer, units=heads),
        *linear(f"{path}.o_proj", "attention", hidden, heads * v_dim, "row", layer=layer, units=heads),
    ]
