"""How TTFT and TPOT of one design come about: bytes, products, messages and fixed costs of a step, then what waiting adds. Seconds throughout.

Shows what `roofline` and `loop` compute; a test holds every result here to theirs.
"""

from collections.abc import Iterator

from msgspec import Struct

from serveright.analysis import roofline
from serveright.analysis.layout import Split
from serveright.analysis.loop import Load, Service
from serveright.types.calibration import Hardware, Scheduling
from serveright.types.derivation import Derivation
from serveright.types.text import Msg, msg

SOURCE = "factors fitted on public measurements by tools/fit"
LIMITS = "((bytes / bandwidth / bandwidth_reached) ** 4 + (products_s / rate_reached) ** 4) ** 0.25"
"""The longer of reading and multiplying, a little more where they are equal."""


class Timed(Struct, frozen=True, kw_only=True):
    """A settled service with everything it was computed from. `slowdown` is the engine's, `values` the estimates as reported (corrections included)."""

    split: Split
    hardware: Hardware
    engine: Scheduling
    load: Load
    service: Service
    bandwidth: float
    """Bytes a second of one GPU."""
    slowdown: float
    values: dict[str, float]

    @property
    def sequences(self) -> float:
        """Sequences of one rank in a step, as `roofline.decode_parts` counts them."""
        batch, whole = self.service.running / self.split.dp, self.service.running
        return max(max(batch, min(whole, 1)) / self.split.pp, min(whole, 1))

    @property
    def rank_tokens(self) -> float:
        """Tokens of one rank in a step; drafted ones are verified with it."""
        return self.sequences * (1 + self.load.drafted)

    @property
    def tokens(self) -> float:
        """Tokens of all ranks in a step."""
        return min(self.rank_tokens * self.split.dp, self.service.running * (1 + self.load.drafted))

    @property
    def context(self) -> float:
        """Tokens a sequence holds halfway through its answer."""
        return self.load.input_tokens + self.load.cached_tokens + self.load.output_tokens / 2


def derive(timed: Timed) -> tuple[Derivation, ...]:
    """Parts of a step, the step, TPOT, then TTFT."""
    parts = tuple(_parts(timed))
    step = _step(timed, parts)
    return (*parts, step, _tpot(timed, step.result), *_ttft(timed))


def _seconds(name: str, formula: str, values: dict[str, float], result: float, reason: Msg) -> Derivation:
    return Derivation(name=name, formula=formula, values=dict(values), result=result, unit="s", reason=reason, source=SOURCE)


def _limits(name: str, timed: Timed, read_s: float, products_s: float, reached: tuple[float, float], reason: Msg) -> Derivation:
    """`read_s` and `products_s` at full datasheet speed; `reached` are the shares of it that servers reach."""
    values = {
        "bytes": read_s * timed.bandwidth,
        "bandwidth": timed.bandwidth,
        "bandwidth_reached": reached[0],
        "products_s": products_s,
        "rate_reached": reached[1],
    }
    result = ((values["bytes"] / values["bandwidth"] / reached[0]) ** 4 + (products_s / reached[1]) ** 4) ** 0.25
    return _seconds(name, LIMITS, values, result, reason)


def _parts(timed: Timed) -> Iterator[Derivation]:
    work, hw, tokens = timed.split, timed.hardware, timed.tokens
    products = work.rank_flop_s * timed.rank_tokens + work.group_flop_s * tokens
    reason = msg("dense weights of one GPU are read once a step and multiplied with {n:.1f} tokens", n=timed.rank_tokens)
    yield _limits("dense_s", timed, work.dense_bytes_s, products, (hw.dense_bandwidth, hw.dense_compute), reason)
    for number, block in enumerate(work.experts, 1):
        share = roofline.distinct_share(block.share, tokens, hw.routing_spread)
        reached = hw.expert_bandwidth * block.bandwidth, hw.expert_compute * block.compute
        reason = msg("{tokens:.1f} tokens touch {share:pct} of the experts, and only those are read", tokens=tokens, share=share)
        yield _limits(f"experts_{number}_s", timed, block.bytes_s * share, block.flop_s * tokens * timed.load.imbalance, reached, reason)
    counts = [(rows, roofline.rows_read(rows.per_token, rows.cap, timed.context) / work.dcp) for rows in work.rows]
    read = timed.sequences * (sum(count * rows.bytes_s for rows, count in counts) + work.state_s)
    attention = timed.rank_tokens * sum(count * rows.flop_s for rows, count in counts)
    reason = msg("rows and states of {n:.1f} sequences at {context:n} tokens, the middle of an answer", n=timed.sequences, context=round(timed.context))
    yield _limits("cache_s", timed, read, attention, (hw.cache_bandwidth, hw.attention_compute), reason)
    yield _messages(timed)
    yield _kernels(timed)
    yield _seconds(
        "host_s",
        "host_per_step_s + host_per_sequence_s * running",
        {"host_per_step_s": hw.step_s, "host_per_sequence_s": hw.sequence_s, "running": timed.service.running},
        hw.step_s + hw.sequence_s * timed.service.running,
        msg("scheduling and sampling on the CPU"),
    )


def _messages(timed: Timed) -> Derivation:
    work, hw, tokens = timed.split, timed.hardware, timed.rank_tokens
    values = {
        "reduces": work.reduces, "reduce_latency_s": work.reduce_latency_s * hw.collective_latency,
        "reduce_bytes_s": work.reduce_byte_s * tokens / hw.collective_bandwidth,
        "exchanges": work.exchanges, "exchange_latency_s": work.exchange_latency_s * hw.collective_latency,
        "exchange_bytes_s": work.exchange_byte_s * tokens / hw.exchange_bandwidth, "hops_s": work.hop_s,
    }  # fmt: skip
    formula = "reduces * reduce_latency_s + reduce_bytes_s + exchanges * exchange_latency_s + exchange_bytes_s + hops_s"
    result = roofline.messages(work, hw, tokens)
    return _seconds(
        "messages_s", formula, values, result, msg("all-reduces after attention and feed-forward, exchanges of tokens with their experts, hops between stages")
    )


def _kernels(timed: Timed) -> Derivation:
    work, hw = timed.split, timed.hardware
    values = {
        "kernel_s": hw.kernel_s * work.width**hw.kernel_width * timed.engine.kernels, "plain": work.plain_kernels,
        "latent": work.latent_kernels, "latent_weight": hw.latent_kernel, "recurrent": work.recurrent_kernels, "recurrent_weight": hw.recurrent_kernel,
        "expert": work.expert_kernels, "expert_weight": hw.expert_kernel, "grouped_s": roofline.expert_floor(work, hw) * timed.engine.kernels,
    }  # fmt: skip
    formula = "kernel_s * (plain + latent * latent_weight + recurrent * recurrent_weight + expert * expert_weight) + grouped_s"
    return _seconds(
        "kernels_s", formula, values, roofline.kernels(work, hw) * timed.engine.kernels, msg("small kernels cost about the same on every GPU and layout")
    )


def _step(timed: Timed, parts: tuple[Derivation, ...]) -> Derivation:
    values: dict[str, float] = {part.name: part.result for part in parts}
    total = " + ".join(values)
    values |= {"slowdown": timed.slowdown, "drafting_s": timed.load.draft_s}
    formula = f"({total}) * slowdown + drafting_s"
    plain = sum(part.result for part in parts) * timed.slowdown + timed.load.draft_s
    late = timed.service.step_s - plain
    if late > 1e-9:
        values["launches_s"] = late
        formula += " + launches_s"
    return _seconds("step_s", formula, values, timed.service.step_s, msg("one step of all running requests; slowdown is this engine against the average one"))


def _tpot(timed: Timed, step_s: float) -> Derivation:
    service, load = timed.service, timed.load
    share = 1 - step_s / load.accepted / service.tpot_s
    values = {"step_s": step_s, "tokens_per_step": load.accepted, "prefill_share": share, "correction": timed.values["tpot_s"] / service.tpot_s}
    reason = msg("a step yields {n:.2f} tokens a request; for {share:pct} of the time prefills of other requests hold it up", n=load.accepted, share=share)
    return _seconds("tpot_s", "step_s / tokens_per_step / (1 - prefill_share) * correction", values, timed.values["tpot_s"], reason)


def _ttft(timed: Timed) -> Iterator[Derivation]:
    work, hw, load, service = timed.split, timed.hardware, timed.load, timed.service
    rank = roofline.prefill_rank_s(work, hw, load.input_tokens, load.cached_tokens)
    group = roofline.prefill_group_s(work, hw, load.input_tokens, load.imbalance)
    values = {"rank_s": rank, "group_s": group, "encoder_s": load.extra_prefill_s, "slowdown": timed.slowdown}
    prefill = (rank + group + load.extra_prefill_s) * timed.slowdown
    reason = msg(
        "{n:n} new tokens of the prompt: products, attention over what came before, messages, and one reading of the weights", n=round(load.input_tokens)
    )
    yield _seconds("prefill_s", "(rank_s + group_s + encoder_s) * slowdown", values, prefill, reason)
    seats = min(load.concurrency, load.room)
    waiting = (load.concurrency - seats) / service.requests_per_s if load.concurrency > seats else 0.0
    queue = service.ttft_median_s - timed.engine.request_s - prefill - waiting
    parts = {
        "request_s": timed.engine.request_s, "prefill_s": prefill, "queue_s": queue, "room_s": waiting,
        "correction": timed.values["ttft_median_s"] / service.ttft_median_s,
    }  # fmt: skip
    reason = msg("the request's way in, its prefill, the wait for a step and behind other prefills, and the wait for room in the cache")
    yield _seconds("ttft_median_s", "(request_s + prefill_s + queue_s + room_s) * correction", parts, timed.values["ttft_median_s"], reason)
