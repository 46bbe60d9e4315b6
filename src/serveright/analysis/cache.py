"""Logical bytes of one sequence's cache, from the shape alone: exact, engine-free, each figure with its derivation.

A token's row is as wide as the mixer says; it is kept for every token (full, latent), for one token in `compress_ratio` (pooled), for the last
`window` (sliding, chunked), or not at all (recurrent layers keep one state).
"""

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from serveright.errors import UnknownName
from serveright.types.cache import CacheKind, CachePart, LogicalCache, StateDefaults
from serveright.types.derivation import Derivation
from serveright.types.model import Attention, Indexer, Latent, Layer, Mixer, ModelShape, Recurrent, UnknownMixer
from serveright.types.text import Msg, msg

ELEMENT_BYTES: dict[str, float] = {
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "int8": 1,
    "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32,
}
"""Bytes of one element, block scales included (one per 16 or 32 elements)."""
_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float": "float32",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
}
STATE_DEFAULTS = StateDefaults(
    source="vLLM 0.33.0",
    by_kind={"kimi_delta": "float32"},
    by_architecture={"NemotronHForCausalLM": "float32", "NemotronHPuzzleForCausalLM": "float32"},
)
"""MambaStateDtypeCalculator.kda_state_dtype and NemotronHForCausalLMConfig; every other silent config keeps its state in the model's own type."""


class Rows(Struct, frozen=True):
    """What one mixer keeps: `width` elements per row, one row per `ratio` tokens, at most `limit` tokens; or a state (`state` elements, `conv` elements)."""

    kind: CacheKind
    mixer: str
    width: int = 0
    ratio: int = 1
    limit: int | None = None
    state: int = 0
    conv: int = 0
    state_dtype: str | None = None
    own: bool = False
    """Kept even by a layer that reads another layer's rows: states, and the window beside pooled rows."""


def element_bytes(dtype: str) -> float:
    """Bytes per element of a number type. Raises UnknownName for a word nobody knows."""
    word = _ALIASES.get(dtype.removeprefix("torch."), dtype.removeprefix("torch."))
    if word not in ELEMENT_BYTES:
        raise UnknownName(msg("number type (dtype of the config, --kv-dtype)"), dtype, ELEMENT_BYTES)
    return ELEMENT_BYTES[word]


def mixer_rows(mixer: Mixer) -> Iterator[Rows]:
    """Everything one mixer keeps for one sequence."""
    if isinstance(mixer, Attention):
        limit = mixer.window_tokens or mixer.chunk_tokens
        width = mixer.kv_heads * (mixer.head_dim + mixer.v_head_dim)
        yield Rows("window" if limit else "kv", mixer.kind, width=width, limit=limit)
        yield from _index_rows(mixer.kind, mixer.indexer)
        if mixer.conv_rows:
            yield Rows("state", mixer.kind, conv=mixer.conv_rows * mixer.conv_channels)
    elif isinstance(mixer, Latent):
        yield from _latent_rows(mixer)
    elif isinstance(mixer, Recurrent):
        state = 1 if mixer.state_shape else 0
        for side in mixer.state_shape:
            state *= side
        yield Rows("state", mixer.kind, state=state, conv=mixer.conv_rows * mixer.conv_channels, state_dtype=mixer.state_dtype)


def _latent_rows(mixer: Latent) -> Iterator[Rows]:
    width = mixer.kv_lora_rank + mixer.rope_dim
    if mixer.kind == "sliding_mla":
        yield Rows("window", mixer.kind, width=width, limit=mixer.window_tokens)
    elif mixer.compress_ratio:
        yield Rows("compressed", mixer.kind, width=width, ratio=mixer.compress_ratio)
        if mixer.window_tokens:
            yield Rows("window", mixer.kind, width=width, limit=mixer.window_tokens, own=True)
    else:
        yield Rows("latent", mixer.kind, width=width)
    yield from _index_rows(mixer.kind, mixer.indexer)


def _index_rows(kind: str, indexer: Indexer | None) -> Iterator[Rows]:
    if indexer and indexer.owns_keys:
        yield Rows("index_key", kind, width=indexer.key_heads * indexer.dim, ratio=indexer.compress_ratio)


def _grouped(layers: tuple[Layer, ...]) -> dict[Rows, int]:
    """How many mixers keep the same; a layer that reads an earlier layer's rows keeps only what is its own."""
    counts: dict[Rows, int] = defaultdict(int)
    for layer in layers:
        for mixer in layer.mixers:
            for rows in mixer_rows(mixer):
                if layer.cache_from is None or rows.own or rows.kind == "state":
                    counts[rows] += 1
    return dict(counts)


def logical_cache(shape: ModelShape, context_tokens: int, kv_dtype: str = "auto", state_default: StateDefaults = STATE_DEFAULTS) -> LogicalCache:
    """One sequence of `context_tokens`. `kv_dtype` `auto` is the model's own type. Raises UnknownName for an unknown type."""
    dtype = shape.dtype if kv_dtype == "auto" else kv_dtype
    parts: list[CachePart] = []
    steps: list[Derivation] = []
    for rows, layers in (_grouped(shape.layers) if shape.causal else {}).items():
        part, step = _state(rows, layers, shape, state_default) if rows.kind == "state" else _rows(rows, layers, context_tokens, dtype)
        parts.append(part)
        steps.append(step)
    total = sum(part.bytes for part in parts)
    if parts:
        steps.append(_total(parts, total))
    return LogicalCache(
        context_tokens=context_tokens,
        kv_dtype=dtype,
        parts=tuple(parts),
        bytes=total,
        bytes_per_token=sum(part.bytes_per_token for part in parts),
        fixed_bytes=sum(part.fixed_bytes for part in parts),
        state_bytes=sum(part.fixed_bytes for part in parts if part.kind == "state"),
        unknown_layers=sum(isinstance(mixer, UnknownMixer) for layer in shape.layers for mixer in layer.mixers),
        derivation=tuple(steps),
    )


def _rows(rows: Rows, layers: int, context: int, dtype: str) -> tuple[CachePart, Derivation]:
    size = element_bytes(dtype)
    tokens = min(context, rows.limit) if rows.limit else context
    total = round(layers * (tokens // rows.ratio) * rows.width * size)
    values: dict[str, int | float] = {"layers": layers, "tokens": tokens, "ratio": rows.ratio, "width": rows.width, "element_bytes": size}
    growing = rows.limit is None
    part = CachePart(
        kind=rows.kind,
        mixer=rows.mixer,
        layers=layers,
        dtype=dtype,
        bytes=total,
        bytes_per_token=layers * rows.width * size / rows.ratio if growing else 0.0,
        fixed_bytes=0 if growing else total,
    )
    name = f"{rows.kind}_bytes.{rows.mixer}"
    formula = "round(layers * floor(tokens / ratio) * width * element_bytes)"
    return part, Derivation(name=name, formula=formula, values=values, result=total, unit="B", reason=_reason(rows))


def _reason(rows: Rows) -> Msg:
    if rows.limit:
        return msg("the last {limit} tokens only, {width} elements each", limit=rows.limit, width=rows.width)
    if rows.kind == "index_key":
        return msg("one key of {width} elements per {ratio} tokens for the indexer", width=rows.width, ratio=rows.ratio)
    if rows.ratio > 1:
        return msg("one row of {width} elements for {ratio} tokens", width=rows.width, ratio=rows.ratio)
    if rows.kind == "latent":
        return msg("one latent row of {width} elements per token, shared by all heads", width=rows.width)
    return msg("keys and values of all KV heads: {width} elements per token", width=rows.width)


def _state(rows: Rows, layers: int, shape: ModelShape, default: StateDefaults) -> tuple[CachePart, Derivation]:
    silent = default.by_architecture.get(shape.architecture) or default.by_kind.get(rows.mixer) or shape.dtype
    dtype = rows.state_dtype or silent
    state_size, conv_size = element_bytes(dtype), element_bytes(shape.dtype)
    total = round(layers * (rows.state * state_size + rows.conv * conv_size))
    values: dict[str, int | float] = {
        "layers": layers,
        "state_elements": rows.state,
        "state_element_bytes": state_size,
        "conv_elements": rows.conv,
        "conv_element_bytes": conv_size,
    }
    reason = (
        msg("a state of fixed size; the config stores it as {dtype}", dtype=dtype)
        if rows.state_dtype
        else msg("a state of fixed size; the config is silent on its type, {source} takes {dtype}", source=default.source, dtype=dtype)
        if rows.state
        else msg("the last rows of a short convolution, in the model's own type")
    )
    part = CachePart(kind="state", mixer=rows.mixer, layers=layers, dtype=dtype, bytes=total, bytes_per_token=0.0, fixed_bytes=total)
    formula = "layers * (state_elements * state_element_bytes + conv_elements * conv_element_bytes)"
    source = "" if rows.state_dtype or not rows.state else default.source
    return part, Derivation(name=f"state_bytes.{rows.mixer}", formula=formula, values=values, result=total, unit="B", reason=reason, source=source)


def _total(parts: list[CachePart], total: int) -> Derivation:
    names = [f"{part.kind}_{part.mixer}" for part in parts]
    values: dict[str, int | float] = {
        name if names.count(name) == 1 else f"{name}_{i}": part.bytes for i, (name, part) in enumerate(zip(names, parts, strict=True), 1)
    }
    return Derivation(
        name="logical_bytes_per_sequence",
        formula=" + ".join(values),
        values=values,
        result=total,
        unit="B",
        reason=msg("everything one sequence keeps, whole model, before any engine pages, pads or copies it"),
    )
