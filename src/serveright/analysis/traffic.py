"""From steps to a service: TTFT, TPOT, throughput and goodput of a layout under a traffic, with 80 % ranges and the assumption that matters most."""

import math

from msgspec import Struct, structs

from serveright.analysis import anchors, generation, images, layout, loop, roofline, timing
from serveright.analysis.speculation import Speculation, acceptance, accepted_tokens, draft_s
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration, Scheduling
from serveright.types.derivation import Derivation
from serveright.types.design import Estimate
from serveright.types.engine import Parallel, Sized
from serveright.types.hardware import Gpu
from serveright.types.model import Tower
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

BURST_SHARE = 0.1
"""A closed loop is taken to start all at once and to run ten requests per seat, as public benchmarks do."""
EAGER_KERNEL_S = 25e-6
"""Host time without CUDA graphs of what `work.Kernels` counts as one kernel (unfused about three launches): DeepSeek-R1 in FP4 on 8 B200 was
measured 7.2 times slower at batch 1 without graphs."""
ENCODER_SHARE = 0.4
"""Share of bf16 peak a vision encoder reaches (assumed: prefill attention and bf16 GEMM lie between 0.35 and 0.76)."""
TOKEN_SPREAD, FIRST_SPREAD = 0.18, 0.6
"""Spread (of the logarithm) of TPOT and TTFT over the requests of one run, for goodput (measured p99 over median of InferenceX runs)."""


class Conditions(Struct, frozen=True, kw_only=True):
    """What the engine side adds to a layout. `room` is how many requests of this traffic one deployment holds at once."""

    engine: str
    room: float = 1e9
    kv_itemsize: float = 2.0
    token_budget: int = 8192
    eager: bool = False
    speculation: Speculation | None = None
    imbalance: float = 1.0
    age_years: float = 0.0
    correction: anchors.Correction | None = None
    burst_share: float | None = None
    vision: Tower | None = None


def room(sized: Sized, traffic: Traffic) -> float:
    """Requests of this traffic's mean length that one deployment holds, seats and state slots included."""
    tokens = mean(traffic.input_tokens) + mean(traffic.output_tokens)
    capacity = sized.capacity
    ranks = sized.settings.parallel.dp
    limits = [capacity.tokens / tokens, float(sized.resolved.max_num_seqs * ranks)]
    if capacity.state_slots is not None:
        limits.append(float(capacity.state_slots * ranks))
    return max(1.0, min(limits))


def mean(median_p95: tuple[int, int]) -> float:
    """Mean of a log-normal through (median, p95)."""
    median, p95 = median_p95
    if p95 <= median:
        return float(median)
    spread = math.log(p95 / median) / 1.645
    return median * math.exp(spread**2 / 2)


def accepted_of(given: Conditions, calibration: Calibration) -> float:
    """Tokens one step yields."""
    spec = given.speculation
    return accepted_tokens(spec.tokens, acceptance(spec, calibration)) if spec else 1.0


def estimate(work: ModelWork, gpu: Gpu, parallel: Parallel, traffic: Traffic, calibration: Calibration, given: Conditions) -> Estimate:
    """Predicted service of `parallel.replicas` deployments under `traffic`.

    `concurrency` is the total over replicas (closed loop); with `rate_per_s` the concurrency that this rate keeps busy is found first.
    """
    timed, measured, saturated = _timed(work, gpu, parallel, traffic, calibration, given)
    load, service, values = timed.load, timed.service, timed.values
    parts = roofline.decode_parts(timed.split, calibration.hardware, service.running / parallel.dp, timed.context, given.imbalance, 1 + load.drafted)
    if load.draft_s:
        parts["draft"] = load.draft_s
    limits = intervals(calibration, values, measured=measured, correction=given.correction)
    return Estimate(
        ttft_mean_s=values["ttft_mean_s"],
        ttft_median_s=values["ttft_median_s"],
        tpot_s=values["tpot_s"],
        output_tokens_per_s=values["output_tokens_per_s"],
        requests_per_s=values["requests_per_s"],
        max_concurrency=given.room * parallel.replicas,
        range=limits,
        dominated_by=_saturation(traffic, values) if saturated else dominated_by(parts, service),
        parts={**parts, "prefill": service.busy * service.tpot_s},
        goodput_per_s=values["requests_per_s"] * meeting(traffic, values),
    )


def derivation(work: ModelWork, gpu: Gpu, parallel: Parallel, traffic: Traffic, calibration: Calibration, given: Conditions) -> tuple[Derivation, ...]:
    """How `estimate` comes to its TTFT and TPOT for the same question."""
    return timing.derive(_timed(work, gpu, parallel, traffic, calibration, given)[0])


def _timed(work: ModelWork, gpu: Gpu, parallel: Parallel, traffic: Traffic, calibration: Calibration, given: Conditions) -> tuple[timing.Timed, bool, bool]:
    """(the settled service, whether its combination was measured, whether more arrives than can be served)."""
    table, measured = generation.pace(calibration, given.engine, gpu, work)
    split = layout.split(work, gpu, parallel, calibration, given.kv_itemsize, engine=given.engine)
    load = _load(work, gpu, parallel, traffic, calibration, given)
    load, service, saturated = _settle(split, table, traffic, parallel, calibration, load)
    if given.eager:
        launches = split.plain_kernels + split.latent_kernels + split.recurrent_kernels + split.expert_kernels + split.grouped_kernels
        service = _slower(service, load, max(0.0, launches * EAGER_KERNEL_S - service.step_s))
    timed = timing.Timed(
        split=split,
        hardware=calibration.hardware,
        engine=table,
        load=load,
        service=service,
        bandwidth=gpu.bandwidth_bytes_per_s,
        slowdown=loop.slowdown(table, load),
        values=_values(service, load, busy_replicas(parallel, traffic), given),
    )
    return timed, measured, saturated


def busy_replicas(parallel: Parallel, traffic: Traffic) -> float:
    """Copies that have work: fewer requests than copies leave some idle."""
    return min(parallel.replicas, traffic.concurrency) if traffic.concurrency else parallel.replicas


def _load(work: ModelWork, gpu: Gpu, parallel: Parallel, traffic: Traffic, calibration: Calibration, given: Conditions) -> loop.Load:
    prompt = mean(traffic.input_tokens)
    encoder = 0.0
    if traffic.images_per_request and given.vision is not None and given.vision.image is not None:
        per_image = images.image_tokens(given.vision.image, *traffic.image_pixels)
        prompt += traffic.images_per_request * per_image
        flops = images.encoder_flops(given.vision, *traffic.image_pixels) * traffic.images_per_request
        encoder = flops / parallel.tp / (layout.gemm_rate(gpu, 16, calibration) / calibration.gemm["bf16"] * ENCODER_SHARE)
    shared = min(float(traffic.shared_prefix_tokens), prompt - 1)
    seats = max(1.0, (traffic.concurrency or 1) / parallel.replicas)
    spec = given.speculation
    burst = BURST_SHARE if traffic.rate_per_s is None else 0.0
    return loop.Load(
        concurrency=seats,
        input_tokens=prompt - shared,
        output_tokens=mean(traffic.output_tokens),
        cached_tokens=shared,
        room=given.room,
        burst_share=burst if given.burst_share is None else given.burst_share,
        imbalance=given.imbalance,
        drafted=float(spec.tokens) if spec else 0.0,
        accepted=accepted_of(given, calibration),
        draft_s=draft_s(work, gpu, parallel, spec, calibration, min(seats, given.room) / parallel.dp) if spec else 0.0,
        age_years=given.age_years,
        extra_prefill_s=encoder,
    )


def _settle(
    split: layout.Split, table: Scheduling, traffic: Traffic, parallel: Parallel, calibration: Calibration, load: loop.Load
) -> tuple[loop.Load, loop.Service, bool]:
    """The steady state; for a rate, the concurrency at which completions equal arrivals (bisection on a rising curve)."""
    hw = calibration.hardware
    if traffic.rate_per_s is None:
        return load, loop.closed_loop(split, hw, table, load), False
    wanted = traffic.rate_per_s / parallel.replicas
    low, high = 1.0, max(2.0, min(load.room, 4096.0))
    full = structs.replace(load, concurrency=high)
    service = loop.closed_loop(split, hw, table, full)
    if service.requests_per_s <= wanted:
        return full, service, True
    for _ in range(20):
        middle = math.sqrt(low * high)
        if loop.closed_loop(split, hw, table, structs.replace(load, concurrency=middle)).requests_per_s < wanted:
            low = middle
        else:
            high = middle
    settled = structs.replace(load, concurrency=high)
    service = loop.closed_loop(split, hw, table, settled)
    return settled, structs.replace(service, requests_per_s=min(service.requests_per_s, wanted)), False


def _slower(service: loop.Service, load: loop.Load, extra_step_s: float) -> loop.Service:
    """Without CUDA graphs the host launches every kernel: the step is as long as the launches."""
    tpot = service.tpot_s + extra_step_s / load.accepted
    before, after = (service.ttft_median_s + load.output_tokens * each for each in (service.tpot_s, tpot))
    return structs.replace(
        service,
        tpot_s=tpot,
        step_s=service.step_s + extra_step_s,
        ttft_median_s=service.ttft_median_s + extra_step_s,
        ttft_mean_s=service.ttft_mean_s + extra_step_s,
        requests_per_s=service.requests_per_s * before / after,
    )


def _values(service: loop.Service, load: loop.Load, replicas: float, given: Conditions) -> dict[str, float]:
    rate = service.requests_per_s * replicas
    values = {
        "ttft_mean_s": service.ttft_mean_s,
        "ttft_median_s": service.ttft_median_s,
        "tpot_s": service.tpot_s,
        "output_tokens_per_s": rate * load.output_tokens,
        "requests_per_s": rate,
    }
    if given.correction is None:
        return values
    corrected = {name: value * given.correction.factor(name, load.concurrency * replicas) for name, value in values.items()}
    if "output_tokens_per_s" not in given.correction.level:
        before, after = (each["ttft_median_s"] + load.output_tokens * each["tpot_s"] for each in (values, corrected))
        corrected["output_tokens_per_s"] = values["output_tokens_per_s"] * before / after
    corrected["requests_per_s"] = corrected["output_tokens_per_s"] / load.output_tokens
    return corrected


INTERVAL_KEYS = {
    "ttft_mean_s": "ttft_mean",
    "ttft_median_s": "ttft_median",
    "tpot_s": "tpot",
    "output_tokens_per_s": "throughput",
    "requests_per_s": "throughput",
}


def intervals(
    calibration: Calibration, values: dict[str, float], *, measured: bool, correction: anchors.Correction | None = None
) -> dict[str, tuple[float, float]]:
    """80 % interval of each value: factors of left-out residuals, the `unseen` ones for engines or generations nobody measured, narrowed by anchors."""
    out: dict[str, tuple[float, float]] = {}
    for name, value in values.items():
        key = INTERVAL_KEYS[name]
        low, high = calibration.interval[key if measured else f"{key}/unseen"]
        narrow = correction.narrowing.get(name, 1.0) if correction else 1.0
        out[name] = (value * low**narrow, value * high**narrow)
    return out


def meeting(traffic: Traffic, values: dict[str, float]) -> float:
    """Share of requests that meet the targets, log-normal spread around the medians."""
    share = 1.0
    for target, middle, spread in (
        (traffic.tpot_target_s, values["tpot_s"], TOKEN_SPREAD),
        (traffic.ttft_target_s, values["ttft_median_s"], FIRST_SPREAD),
    ):
        if target is not None:
            share *= 0.5 * (1 + math.erf(math.log(target / middle) / spread / math.sqrt(2)))
    return share


PART_NAMES: dict[str, Msg] = {
    "dense": msg("reading and multiplying dense weights"),
    "experts": msg("reading the experts that a batch touches (uniform routing assumed)"),
    "cache": msg("reading the cache"),
    "messages": msg("messages between GPUs"),
    "kernels": msg("the fixed cost of small kernels (one fitted value for all GPUs)"),
    "host": msg("host work per step and sequence"),
    "draft": msg("drafting (acceptance rate assumed)"),
    "prefill": msg("prefill of other requests in between"),
}


def dominated_by(parts: dict[str, float], service: loop.Service) -> Msg:
    """The part that takes most of a token's time, and its share."""
    scale = (1 - service.busy) / max(sum(parts.values()), 1e-12)
    shares = {**{name: value * scale for name, value in parts.items()}, "prefill": service.busy}
    name = max(shares, key=shares.__getitem__)
    return msg("{share:pct} of a token's time is {part}", share=shares[name], part=PART_NAMES[name])


def _saturation(traffic: Traffic, values: dict[str, float]) -> Msg:
    return msg(
        "{rate:g} requests per second arrive, {served:.3g} can be served: the queue grows without end",
        rate=traffic.rate_per_s,
        served=values["requests_per_s"],
    )
