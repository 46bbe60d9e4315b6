"""Start-up lines against the derivation, part by part: which assumption does the log disprove? Pure."""

from collections.abc import Iterator, Sequence

from serveright.types.diagnosis import LogReading, Part
from serveright.types.engine import Sized
from serveright.types.text import Msg, msg

GIB = 1 << 30
WEIGHTS = 0.03
"""Relative difference of weights that repacking and buffers explain."""
PER_TOKEN = 0.012
"""Of bytes per token: the log rounds gigabytes to two decimals, and identical starts differ by 1.2 %."""
OVERHEAD = 0.25
"""Of the overhead where no fitted range is known."""


def memory_parts(logs: Sequence[LogReading], sized: Sized) -> tuple[Part, ...]:
    """Parts of the first log that has memory lines; () where none has."""
    for log in logs:
        parts = tuple(_vllm(log, sized) if sized.resolved.engine == "vllm" else _sglang(log, sized))
        if parts:
            return parts
    return ()


def fact(log: LogReading, key: str, name: str) -> float | None:
    """One number of a log's memory lines."""
    value = log.facts[key].numbers.get(name) if key in log.facts else None
    return value if isinstance(value, float) else None


def _vllm(log: LogReading, sized: Sized) -> Iterator[Part]:
    memory = sized.memory
    weights, available = fact(log, "weights", "weights_gib"), fact(log, "available", "available_gib")
    tokens = fact(log, "kv_tokens", "tokens")
    block = fact(log, "attention_block", "block") or fact(log, "block_set", "block")
    if weights is not None:
        yield _weights(memory.weights_bytes, weights * GIB)
    if weights is not None and available is not None:
        yield _overhead(sized, memory.budget_bytes - (weights + available) * GIB)
    if available is not None:
        yield _close("kv_pool", memory.kv_pool_bytes, available * GIB, "B", 0.05, msg("the pool is what weights and overhead leave of the budget"))
    if available is not None and tokens:
        yield _per_token(sized, available * GIB / tokens)
    if block is not None:
        yield _block(sized, block)
    if tokens is not None:
        yield _close("capacity_tokens", sized.capacity.per_rank_tokens, tokens, "tokens", 0.05, msg("pool divided by what one token costs"))


def _sglang(log: LogReading, sized: Sized) -> Iterator[Part]:
    memory = sized.memory
    begin, end = fact(log, "weights_begin", "free_gib"), fact(log, "weights_end", "free_gib")
    weights = fact(log, "weights_end", "weights_gib") or (begin - end if begin is not None and end is not None else None)
    tokens = fact(log, "limits", "tokens") or fact(log, "kv_allocated", "tokens")
    halves = (fact(log, "kv_allocated", "k_gib"), fact(log, "kv_allocated", "v_gib"))
    pool = fact(log, "kv_allocated", "kv_gib") or (halves[0] + halves[1] if halves[0] is not None and halves[1] is not None else None)
    slots = fact(log, "state_allocated", "slots")
    if weights is not None:
        yield _weights(memory.weights_bytes, weights * GIB)
    if pool is not None and tokens:
        yield _close(
            "bytes_per_token", sized.layout.stored_bytes_per_token, pool * GIB / tokens, "B", 0.02, msg("rows of the layers that grow, at the precision stored")
        )
    if slots is not None and sized.capacity.state_slots is not None:
        yield _close("state_slots", sized.capacity.state_slots, slots, "slots", 0.05, msg("states share the memory with KV by a fixed ratio"))
    if tokens is not None:
        yield _close("capacity_tokens", sized.capacity.per_rank_tokens, tokens, "tokens", 0.05, msg("pool divided by what one token costs"))


def _verdict(derived: float, observed: float, tolerance: float) -> str:
    return "agrees" if abs(observed - derived) <= tolerance * max(abs(derived), 1) else "differs"


def _close(name: str, derived: float, observed: float, unit: str, tolerance: float, text: Msg) -> Part:
    return Part(name=name, derived=derived, observed=observed, unit=unit, verdict=_verdict(derived, observed, tolerance), text=text)


def _weights(derived: int, observed: float) -> Part:
    verdict = _verdict(derived, observed, WEIGHTS)
    if verdict == "agrees":
        text = msg("the checkpoint's formats and the way they are split")
    elif observed > derived:
        text = msg("more weights than assumed: a part is stored or kept in a wider format, replicated, or belongs to a draft model")
    else:
        text = msg("fewer weights than assumed: a part is stored in a narrower format, or split further")
    return Part(name="weights", derived=derived, observed=observed, unit="B", verdict=verdict, text=text)


def _overhead(sized: Sized, observed: float) -> Part:
    memory = sized.memory
    low, high = memory.overhead_range or (memory.overhead_bytes * (1 - OVERHEAD), memory.overhead_bytes * (1 + OVERHEAD))
    verdict = "agrees" if low <= observed <= high else "differs"
    text = (
        msg("activations, graphs, context: the fitted part of the derivation")
        if verdict == "agrees"
        else msg("outside the fitted range {low:gib} to {high:gib}: token budget, image profile, graphs, or another process", low=low, high=high)
    )
    return Part(name="overhead", derived=memory.overhead_bytes, observed=observed, unit="B", verdict=verdict, text=text)


def _per_token(sized: Sized, observed: float) -> Part:
    per_rank = sized.capacity.per_rank_tokens
    derived = sized.memory.kv_pool_bytes / per_rank if per_rank else sized.layout.pool_bytes_per_token
    verdict = _verdict(derived, observed, PER_TOKEN)
    ratio = observed / derived if derived else 0.0
    if verdict == "agrees":
        text = msg("KV precision, heads and layers as derived")
    elif abs(ratio - 0.5) < 0.03 or abs(ratio - 2) < 0.06:
        text = msg("off by a factor of {ratio:.2f}: the KV cache is stored in another precision than assumed", ratio=ratio)
    else:
        text = msg("off by a factor of {ratio:.2f}: replication of heads, a block or group rule, or a state pool differs from what is assumed", ratio=ratio)
    return Part(name="bytes_per_token", derived=derived, observed=observed, unit="B", verdict=verdict, text=text)


def _block(sized: Sized, observed: float) -> Part:
    derived = sized.layout.block_tokens
    same = int(observed) == derived
    text = (
        msg("tokens of one block")
        if same
        else msg("the engine aligned the block otherwise: state size, prefix caching, TP or KV precision differ from what is assumed")
    )
    return Part(name="block_tokens", derived=derived, observed=observed, unit="tokens", verdict="agrees" if same else "differs", text=text)
