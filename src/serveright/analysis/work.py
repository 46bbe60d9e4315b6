"""What one step of a model has to do, counted from its shape: weights by part and format, experts, cached rows, states, small kernels.

Counts only: no GPU, no layout, no time. Made once per model and checkpoint; `analysis.layout` then splits it over GPUs for each candidate.
"""

from collections.abc import Callable

from msgspec import Struct

from serveright.types.model import Attention, Ffn, Latent, Layer, Mixer, ModelShape, NumberFormat, Part, Recurrent, Shard, Weight

FormatOf = Callable[[Weight], NumberFormat]

RANK_PARTS: frozenset[Part] = frozenset({"attention", "indexer", "recurrent"})
"""Parts that work on the tokens of one attention rank only; the others see the tokens of every data-parallel rank."""
IDLE_PARTS: frozenset[Part] = frozenset({"embed", "norm", "vision", "audio", "ngram"})
"""Looked up, negligible, or outside the decode step."""
UNBOUNDED = 1e18
STATE_BYTES = {"float32": 4, "fp32": 4, "bfloat16": 2, "float16": 2}


class Bundle(Struct, frozen=True, kw_only=True):
    """Dense weights that every layout treats alike. `elements` and stored `bytes` of the whole model."""

    part: Part
    shard: Shard
    units: int | None
    activation_bits: int
    elements: int
    bytes: float


class Experts(Struct, frozen=True, kw_only=True):
    """Routed experts of `layers` equal layers: `bytes` and `elements` of all experts of all those layers."""

    layers: int
    experts: int
    per_token: float
    bits: float
    floating: bool
    activation_bits: int
    elements: int
    bytes: float


class Rows(Struct, frozen=True, kw_only=True):
    """Cached rows that one token's attention reads in `layers` equal layers.

    A context of L tokens holds `per_token` x L rows, of which at most `cap` are read. `heads` KV heads may be split (1 = every shard reads all of it).
    `itemsize` None: the cache's own precision. FLOPs are per query token and row, all heads.
    """

    layers: int
    heads: int
    width: int
    per_token: float
    cap: float
    decode_flops: float
    prefill_flops: float
    itemsize: float | None = None
    window: bool = False
    """`cap` is a window: older rows are dropped, not only skipped."""


class Kernels(Struct, frozen=True, kw_only=True):
    """Small kernels of one decode step by class, after the fusions every engine has."""

    plain: int = 0
    latent: int = 0
    recurrent: int = 0
    expert: int = 0
    grouped: int = 0
    """Grouped expert products: launched like the others, in a graph priced by `Calibration.expert_kernels`."""


class ModelWork(Struct, frozen=True, kw_only=True):
    """Everything `analysis.layout` needs, some twenty numbers."""

    hidden: int
    layers: int
    mixer_layers: int
    dense_ffn_layers: int
    moe_layers: int
    per_token: float
    """Experts a token visits in a MoE layer (mean), 0 without experts."""
    bundles: tuple[Bundle, ...]
    experts: tuple[Experts, ...]
    rows: tuple[Rows, ...]
    state_bytes: float
    """Recurrent state of one sequence, all layers, read and written once a step."""
    kernels: Kernels
    draft: tuple[Bundle, ...] = ()
    """Weights of the prediction layers (MTP) that one draft step reads."""


def stored_bytes(weight: Weight, form: NumberFormat) -> float:
    """Bytes of a weight with its scales and zero points."""
    data = weight.elements * form.bits / 8
    if form.block is not None:
        return data + weight.elements / (form.block[0] * form.block[1]) * form.scale_bits / 8
    if form.group > 0:
        return data + weight.elements / form.group * (form.scale_bits + form.zero_bits) / 8
    return data


def model_work(shape: ModelShape, format_of: FormatOf) -> ModelWork:
    """Count the work of one token and one step. `format_of` gives the number format of a weight (`formats.resolve.format_of`)."""
    bundles, experts, draft = _weights(shape, format_of)
    moe = [ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"]
    return ModelWork(
        hidden=shape.hidden,
        layers=len(shape.layers),
        mixer_layers=sum(1 for layer in shape.layers if layer.mixers),
        dense_ffn_layers=sum(1 for layer in shape.layers if layer.ffns and all(ffn.kind == "dense" for ffn in layer.ffns)),
        moe_layers=sum(1 for layer in shape.layers if any(ffn.kind == "moe" for ffn in layer.ffns)),
        per_token=sum(visited(ffn) for ffn in moe) / len(moe) if moe else 0.0,
        bundles=bundles,
        experts=experts,
        rows=_rows(shape.layers),
        state_bytes=sum(_state_bytes(mixer, shape.dtype) for layer in shape.layers for mixer in layer.mixers if isinstance(mixer, Recurrent)),
        kernels=_kernels(shape.layers),
        draft=draft,
    )


def visited(ffn: Ffn) -> float:
    """Real experts one token visits on average: zero-computation experts take their share of the picks."""
    return ffn.experts_per_token * ffn.experts / (ffn.experts + ffn.zero_experts)


def _weights(shape: ModelShape, format_of: FormatOf) -> tuple[tuple[Bundle, ...], tuple[Experts, ...], tuple[Bundle, ...]]:
    moe = {layer.index: ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"}
    dense: dict[tuple[bool, Part, Shard, int | None, int], list[float]] = {}
    routed: dict[tuple[int, float, float, bool, int], tuple[set[int], list[float]]] = {}
    for weight in shape.weights:
        if weight.part in IDLE_PARTS or len(weight.shape) < 2:
            continue
        form = format_of(weight)
        if weight.part == "experts" and not weight.mtp and weight.layer in moe:
            ffn = moe[weight.layer]
            layers, sums = routed.setdefault((ffn.experts, visited(ffn), form.bits, "fp" in form.name, form.activation_bits), (set(), [0, 0.0]))
            layers.add(weight.layer)
        else:
            sums = dense.setdefault((weight.mtp or weight.part == "mtp", weight.part, weight.shard, weight.units, form.activation_bits), [0, 0.0])
        sums[0] += weight.elements
        sums[1] += stored_bytes(weight, form)
    bundles = {
        wanted: tuple(
            Bundle(part=part, shard=shard, units=units, activation_bits=bits, elements=int(elements), bytes=size)
            for (mtp, part, shard, units, bits), (elements, size) in dense.items()
            if mtp == wanted
        )
        for wanted in (False, True)
    }
    experts = tuple(
        Experts(layers=len(layers), experts=count, per_token=per_token, bits=bits, floating=floating, activation_bits=act, elements=int(elements), bytes=size)
        for (count, per_token, bits, floating, act), (layers, (elements, size)) in routed.items()
    )
    return bundles[False], experts, bundles[True]


def _rows(layers: tuple[Layer, ...]) -> tuple[Rows, ...]:
    count: dict[Rows, int] = {}
    for layer in layers:
        for mixer in layer.mixers:
            for rows in mixer_rows(mixer):
                count[rows] = count.get(rows, 0) + 1
    return tuple(_times(rows, number) for rows, number in count.items())


def _times(rows: Rows, layers: int) -> Rows:
    return Rows(
        layers=layers,
        heads=rows.heads,
        width=rows.width,
        per_token=rows.per_token,
        cap=rows.cap,
        decode_flops=rows.decode_flops,
        prefill_flops=rows.prefill_flops,
        itemsize=rows.itemsize,
        window=rows.window,
    )


def mixer_rows(mixer: Mixer) -> list[Rows]:
    """Rows one layer with this mixer reads: its own, an uncompressed window beside compressed ones, and index keys."""
    if isinstance(mixer, Attention):
        flops = 2.0 * mixer.query_heads * (mixer.head_dim + mixer.v_head_dim)
        cap = float(mixer.window_tokens or (mixer.chunk_tokens or 0) / 2 or UNBOUNDED)
        if mixer.indexer is not None:
            cap = min(cap, float(mixer.indexer.topk * (mixer.sparse_block_tokens or 1)))
        width, window = mixer.head_dim + mixer.v_head_dim, mixer.window_tokens is not None and mixer.indexer is None
        rows = [
            Rows(layers=1, heads=mixer.kv_heads, width=mixer.kv_heads * width, per_token=1, cap=cap, decode_flops=flops, prefill_flops=flops, window=window)
        ]
        return rows + _index_rows(mixer)
    if isinstance(mixer, Latent):
        return _latent_rows(mixer) + _index_rows(mixer)
    return []


def _latent_rows(mixer: Latent) -> list[Rows]:
    width = mixer.kv_lora_rank + mixer.rope_dim
    decode = 2.0 * mixer.query_heads * (width + mixer.kv_lora_rank)
    sparse = mixer.indexer is not None or mixer.compress_ratio is not None
    prefill = decode if sparse else 2.0 * mixer.query_heads * (mixer.nope_dim + mixer.rope_dim + mixer.v_head_dim)

    def rows(per_token: float, cap: float, *, window: bool = False) -> Rows:
        return Rows(layers=1, heads=1, width=width, per_token=per_token, cap=cap, decode_flops=decode, prefill_flops=prefill, window=window)

    topk = float(mixer.indexer.topk) if mixer.indexer is not None else UNBOUNDED
    ratio = mixer.compress_ratio or 1
    if ratio > 1:
        window = [rows(1, float(mixer.window_tokens), window=True)] if mixer.window_tokens else []
        return [rows(1 / ratio, topk), *window]
    return [rows(1, min(topk, float(mixer.window_tokens or UNBOUNDED)), window=mixer.window_tokens is not None and mixer.indexer is None)]


def _index_rows(mixer: Attention | Latent) -> list[Rows]:
    """The indexer scores every key of the context; layers that reuse an earlier layer's picks read none."""
    indexer = mixer.indexer
    if indexer is None or not indexer.owns_keys:
        return []
    flops = 2.0 * indexer.heads * indexer.dim
    width = indexer.key_heads * indexer.dim
    return [
        Rows(
            layers=1,
            heads=1,
            width=width,
            per_token=1 / indexer.compress_ratio,
            cap=UNBOUNDED,
            decode_flops=flops,
            prefill_flops=flops,
            itemsize=INDEX_ITEMSIZE,
        )
    ]


INDEX_ITEMSIZE = 132 / 128
"""FP8 keys with one 4-byte scale per 128 elements, what both engines store."""


def _state_bytes(mixer: Recurrent, dtype: str) -> float:
    elements = 1 if mixer.state_shape else 0
    for side in mixer.state_shape:
        elements *= side
    state = elements * STATE_BYTES.get(mixer.state_dtype or dtype, 4)
    return state + mixer.conv_channels * mixer.conv_rows * STATE_BYTES.get(dtype, 2)


def _kernels(layers: tuple[Layer, ...]) -> Kernels:
    """Launches per layer: two fused add+norm; attention = QKV, rope with cache write, attention, output; latent attention = down projections,
    norms, query up, rope with cache write, absorbed key product, attention, value up, output; a recurrent layer two projections, their splits and copies,
    convolution, gates, normalised keys, scan, state write, gated norm, output;
    a dense FFN up, activation, down; experts router, top-k, sort, activation, combine, and two grouped products; shared experts three more."""
    plain = latent = recurrent = expert = grouped = 0
    for layer in layers:
        plain += (1 if layer.mixers else 0) + (1 if layer.ffns else 0)
        for mixer in layer.mixers:
            if isinstance(mixer, Recurrent):
                recurrent += 12
            elif isinstance(mixer, Latent):
                latent += 8
            else:
                plain += 4
            if isinstance(mixer, Attention | Latent) and mixer.indexer is not None:
                latent += 6 if mixer.indexer.owns_keys else 1
        for ffn in layer.ffns:
            plain += 3 if ffn.kind == "dense" or ffn.shared_experts else 0
            expert += 5 if ffn.kind == "moe" else 0
            grouped += 2 if ffn.kind == "moe" else 0
    return Kernels(plain=plain, latent=latent, recurrent=recurrent, expert=expert, grouped=grouped)
