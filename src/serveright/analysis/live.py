"""What a server's cache should look like from the config alone, and what its own figures under known requests say it does. Pure."""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.cache import STATE_DEFAULTS, logical_cache
from serveright.types.diagnosis import Curve, Pair, Sample, Tokens
from serveright.types.model import ModelShape

NULL_BLOCKS = 1
"""vLLM holds one block back: usage counts the others."""


class Pool(Struct, frozen=True, kw_only=True):
    """What a server says about its cache. Units: blocks (vLLM) or tokens (SGLang, block of 1). Bytes of one GPU; None where not said."""

    units: float
    unit_tokens: float | None
    bytes: float | None
    tokens: float | None
    concurrency: float | None
    state_dtype: str | None
    state_copies: int
    """Blocks a request is charged of each state group: one, or two while prefixes are kept."""

    @property
    def unit_bytes(self) -> float | None:
        """Bytes of one unit."""
        return None if self.bytes is None or not self.units else self.bytes / self.units


class Rung(Struct, frozen=True, kw_only=True):
    """`units` held at the peak by `requests` equal ones of `tokens` stored tokens each."""

    requests: int
    tokens: int
    units: float


class Growth(Struct, frozen=True, kw_only=True):
    """Units of one request = `fixed` + `per_token` x tokens, by the longest and the shortest rung."""

    per_token: float
    fixed: float

    def units(self, tokens: int, unit_tokens: float | None) -> float:
        """Units a request of `tokens` holds, whole blocks where the block is known."""
        grown = self.per_token * tokens
        return self.fixed + (math.ceil(round(grown, 3)) if unit_tokens is None or unit_tokens > 1 else grown)


class Expected(Struct, frozen=True, kw_only=True):
    """Derived from the config: bytes a token and per state layer, whole model. `block_tokens` None where only the engine knows."""

    bytes_per_token: float
    state_layer_bytes: float
    state_layers: int
    block_tokens: int | None


def pool_of(info: Mapping[str, str], total: Mapping[str, float]) -> Pool | None:
    """A pool from vLLM's cache information or SGLang's gauges; None where neither is there."""
    blocks = _number(info.get("num_gpu_blocks"))
    if blocks:
        return Pool(
            units=blocks,
            unit_tokens=_number(info.get("effective_attention_block_size")) or _number(info.get("block_size")),
            bytes=_number(info.get("kv_cache_memory_bytes")),
            tokens=_number(info.get("kv_cache_size_tokens")),
            concurrency=_number(info.get("kv_cache_max_concurrency")),
            state_dtype=_word(info.get("mamba_ssm_cache_dtype")),
            state_copies=2 if info.get("mamba_cache_mode") == "align" else 1,
        )
    tokens = total.get("capacity_tokens")
    return Pool(units=tokens, unit_tokens=1, bytes=None, tokens=tokens, concurrency=None, state_dtype=None, state_copies=1) if tokens else None


def growth(rungs: Sequence[Rung], unit_tokens: float | None) -> Growth | None:
    """Slope and intercept; blocks are rounded up, so lengths count as the blocks they fill where the block is known. None with fewer than two lengths."""
    points = sorted((_filled(rung.tokens, unit_tokens), rung.units / rung.requests) for rung in rungs if rung.units > 0)
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    (short, few), (long, many) = points[0], points[-1]
    slope = (many - few) / (long - short)
    return Growth(per_token=slope, fixed=few - slope * short) if slope > 0 else None


def expected(shape: ModelShape, kv_dtype: str, pool: Pool, context_tokens: int) -> Expected:
    """The derivation for one rank without sharding (tp 1)."""
    defaults = STATE_DEFAULTS if pool.state_dtype is None else replace(STATE_DEFAULTS, by_kind={}, by_architecture={shape.architecture: pool.state_dtype})
    cache = logical_cache(shape, context_tokens, kv_dtype, defaults)
    states = [part for part in cache.parts if part.kind == "state"]
    layers = sum(part.layers for part in states)
    return Expected(
        bytes_per_token=cache.bytes_per_token,
        state_layer_bytes=cache.state_bytes / layers if layers else 0.0,
        state_layers=layers,
        block_tokens=None,
    )


def aligned_block(wanted: Expected, kernel_block: float, growing_layers: int) -> int:
    """Tokens of a hybrid's block: the kernel's block as many times as one state of one layer needs."""
    per_layer = wanted.bytes_per_token / max(1, growing_layers)
    return int(kernel_block * math.ceil(wanted.state_layer_bytes / (kernel_block * per_layer)))


def figures(pool: Pool, grown: Growth | None, wanted: Expected | None, context_tokens: int) -> dict[str, Pair | Tokens]:
    """The contract's pairs: derived beside measured."""
    unit_bytes = pool.unit_bytes
    measured_block = None if grown is None else 1 / grown.per_token
    per_token = None if grown is None or unit_bytes is None else grown.per_token * unit_bytes
    state = None if grown is None or unit_bytes is None or grown.fixed < 0.5 else grown.fixed * unit_bytes
    room = None if grown is None else (pool.units - NULL_BLOCKS * (pool.unit_tokens != 1)) / grown.units(context_tokens, pool.unit_tokens)
    derived = _derived(pool, wanted, context_tokens)
    return {
        "bytes_per_token": Pair(derived=None if wanted is None else wanted.bytes_per_token, measured=per_token),
        "state_bytes": Pair(derived=derived["state"], measured=state),
        "block_tokens": Pair(derived=pool.unit_tokens, measured=measured_block),
        "capacity_tokens": Tokens(derived=derived["tokens"], reported=pool.tokens, measured=None if room is None else room * context_tokens),
        "concurrency": Tokens(derived=derived["concurrency"], reported=pool.concurrency, measured=room),
    }


def _derived(pool: Pool, wanted: Expected | None, context_tokens: int) -> dict[str, float | None]:
    """Capacity from the pool's bytes and the derivation alone: rows of a request, plus padded state blocks of hybrids.

    A running request holds one block a state layer; admission charges `state_copies`, so that a checkpoint for the prefix cache always finds room.
    """
    if wanted is None or pool.bytes is None or pool.unit_tokens is None:
        return {"state": None, "tokens": None, "concurrency": None}
    block = pool.unit_tokens
    if wanted.state_layers == 0:
        request = math.ceil(context_tokens / block) * block * wanted.bytes_per_token
        return {"state": None, "tokens": pool.bytes / wanted.bytes_per_token, "concurrency": pool.bytes / request}
    page = block * wanted.bytes_per_token
    state = wanted.state_layers * pool.state_copies * page
    request = math.ceil(context_tokens / block) * page + state
    concurrency = pool.bytes // page * page / request
    return {"state": wanted.state_layers * page, "tokens": concurrency * context_tokens, "concurrency": concurrency}


def agreement(pairs: Mapping[str, Pair | Tokens], pool: Pool, context_tokens: int) -> str:
    """`agrees` when measured and derived capacity lie within one block a request of each other and of the engine's word."""
    per_token, capacity = pairs["bytes_per_token"], pairs["capacity_tokens"]
    if not isinstance(per_token, Pair) or not isinstance(capacity, Tokens) or per_token.measured is None or per_token.derived is None:
        return "unknown"
    block = pool.unit_tokens or 1
    step = block / max(context_tokens, block)
    close = abs(per_token.measured - per_token.derived) <= step * per_token.derived + 1e-6
    said = capacity.reported is None or capacity.derived is None or abs(capacity.reported - capacity.derived) <= max(block, step * capacity.reported)
    return "agrees" if close and said else "differs"


def curve(points: Sequence[tuple[float, float]], per: str) -> Curve | None:
    """Least squares through (x, seconds); None with fewer than two different x."""
    n = len(points)
    if n < 2 or len({x for x, _ in points}) < 2:
        return None
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    base = mean_y - slope * mean_x
    error = sum(abs(base + slope * x - y) / y for x, y in points if y > 0) / n
    return Curve(base_s=base, slope_s=slope, per=per, error=error)


def curves(samples: Sequence[Sample]) -> dict[str, Curve]:
    """TTFT over input tokens of single requests, TPOT over requests at once."""
    alone = curve([(s.input_tokens, s.ttft_s) for s in samples if s.requests == 1 and s.ttft_s > 0], "input token")
    together = curve([(s.requests, s.tpot_s) for s in samples if s.tpot_s > 0], "request")
    return {name: found for name, found in (("ttft", alone), ("tpot", together)) if found is not None}


def _filled(tokens: int, unit_tokens: float | None) -> float:
    return tokens if unit_tokens in (None, 1) else math.ceil(tokens / unit_tokens) * unit_tokens


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def _word(text: str | None) -> str | None:
    return None if text in (None, "auto", "None") else text
