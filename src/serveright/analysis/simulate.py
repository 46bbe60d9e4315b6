"""Discrete-event simulation of one deployment, step by step: percentiles, bursts and preemption that no closed form gives.

One event kind only: a batch step ends. Steps between two changes of the batch are taken in one jump, so the cost is per request, not per token.
Deterministic: the same requests give the same answer; `poisson` draws them from a seed.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Iterable, Sequence

from msgspec import Struct

from serveright.analysis import roofline
from serveright.analysis.layout import Split
from serveright.types.answers import Simulated
from serveright.types.calibration import Hardware, Scheduling

PERCENTILES = (50, 90, 95, 99)
CONTEXT_GRAIN, CHUNK_GRAIN = 256, 64
"""Step times are looked up at these granularities (tokens)."""


class Request(Struct, frozen=True):
    """One request of a trace or a synthetic process."""

    arrival_s: float
    input_tokens: int
    output_tokens: int


class Drafting(Struct, frozen=True, kw_only=True):
    """Tokens drafted and accepted a step and seconds of drafting: a step then counts as one token of 1 / `accepted` of its time. And expert imbalance."""

    drafted: float = 0.0
    accepted: float = 1.0
    draft_s: float = 0.0
    imbalance: float = 1.0


class StepTimes:
    """Step and prefill seconds of one deployment, remembered at a grain no result can see."""

    def __init__(self, work: Split, hardware: Hardware, engine: Scheduling, age_years: float = 0.0, drafting: Drafting | None = None) -> None:
        self.work, self.hardware, self.engine = work, hardware, engine
        self.drafting = drafting or Drafting()
        self.slowdown = engine.slowdown * math.exp(engine.age_per_year * age_years)
        self.known_steps: dict[tuple[int, int], float] = {}
        self.known_chunks: dict[tuple[int, int], float] = {}

    def decode(self, running: int, context: float) -> float:
        """Seconds of a step with `running` sequences of `context` tokens on average; 0 sequences take none."""
        if running == 0:
            return 0.0
        key = (running, int(context / CONTEXT_GRAIN))
        if key not in self.known_steps:
            draft, context = self.drafting, (key[1] + 0.5) * CONTEXT_GRAIN
            parts = roofline.decode_parts(
                self.work, self.hardware, running / self.work.dp, context, draft.imbalance, 1 + draft.drafted, self.engine.kernels
            )  # fmt: skip
            self.known_steps[key] = (sum(parts.values()) * self.slowdown + draft.draft_s) / draft.accepted
        return self.known_steps[key]

    def prefill(self, tokens: int, before: int) -> float:
        """Seconds that `tokens` new prompt tokens after `before` ones add to a step."""
        key = (-(-tokens // CHUNK_GRAIN), int(before / CONTEXT_GRAIN))
        if key not in self.known_chunks:
            cached = key[1] * CONTEXT_GRAIN
            self.known_chunks[key] = roofline.prefill_s(self.work, self.hardware, key[0] * CHUNK_GRAIN, cached, self.drafting.imbalance) * self.slowdown
        return self.known_chunks[key]


def poisson(rate_per_s: float, count: int, input_tokens: tuple[int, int], output_tokens: tuple[int, int], seed: int = 0) -> list[Request]:
    """`count` requests at random times; lengths log-normal through (median, p95)."""
    source = random.Random(seed)
    now, out = 0.0, list[Request]()
    for _ in range(count):
        now += source.expovariate(rate_per_s)
        out.append(Request(now, _length(source, input_tokens), _length(source, output_tokens)))
    return out


def closed(count: int, input_tokens: tuple[int, int], output_tokens: tuple[int, int], seed: int = 0) -> list[Request]:
    """`count` requests for a closed loop: no arrival times, each seat sends its next one when the last ended."""
    source = random.Random(seed)
    return [Request(0.0, _length(source, input_tokens), _length(source, output_tokens)) for _ in range(count)]


def _length(source: random.Random, median_p95: tuple[int, int]) -> int:
    median, p95 = median_p95
    if p95 <= median:
        return median
    return max(1, round(median * math.exp(source.gauss(0, math.log(p95 / median) / 1.645))))


class _Run:
    """The state of a simulation between two steps."""

    def __init__(self, times: StepTimes, seats: int, capacity: float, budget: int) -> None:
        self.times, self.seats, self.capacity, self.budget = times, seats, capacity, budget
        self.now, self.step, self.steps, self.busy = 0.0, 0, 0, 0.0
        self.waiting: deque[int] = deque()
        self.finishing: list[tuple[int, int, int]] = []
        self.order: list[int] = []
        self.used = 0.0
        self.filling: int | None = None
        self.filled = 0
        self.preemptions = 0


def simulate(
    times: StepTimes,
    requests: Sequence[Request],
    *,
    seats: int,
    capacity_tokens: float = math.inf,
    budget_tokens: int = 8192,
    concurrency: int | None = None,
    ttft_target_s: float = math.inf,
    tpot_target_s: float = math.inf,
) -> Simulated:
    """Serve `requests` with at most `seats` running, `capacity_tokens` of cache and `budget_tokens` of prefill a step.

    With `concurrency` arrival times are ignored and that many requests are kept in flight. A full cache preempts the youngest request, which is
    prefilled again with what it had written. Raises ValueError for a request that can never fit.
    """
    count = len(requests)
    if any(request.input_tokens + request.output_tokens > capacity_tokens for request in requests):
        raise ValueError("a request is longer than the whole cache")
    run = _Run(times, seats, capacity_tokens, budget_tokens)
    arrived, done = [0.0] * count, 0
    first, last = [math.nan] * count, [0.0] * count
    left, start = [request.output_tokens for request in requests], [0] * count
    prompt = [request.input_tokens for request in requests]
    alive = [0] * count
    coming = 0
    running_sum = 0.0
    while done < count:
        coming = _arrive(run, requests, arrived, coming, count, concurrency, done)
        if not run.finishing and not run.waiting and run.filling is None:
            run.now = requests[coming].arrival_s
            continue
        seconds, ready = _prefill(run, prompt, left)
        running = len(run.finishing)
        jump = 1 if seconds or run.filling is not None else _jump(run, requests, coming, concurrency, running)
        context = run.used / max(running, 1) + jump / 2
        seconds += jump * times.decode(running, context)
        run.now += seconds
        run.step += jump
        run.steps += jump
        running_sum += running * jump
        run.used += running * jump
        while run.finishing and run.finishing[0][0] <= run.step:
            _, request, version = heapq.heappop(run.finishing)
            if alive[request] != version:
                continue
            run.used -= prompt[request] + left[request]
            last[request], done = run.now, done + 1
        for request in ready:
            if math.isnan(first[request]):
                first[request] = run.now + times.engine.request_s
            start[request] = run.step
            if left[request] <= 1:
                run.used -= prompt[request] + 1
                last[request], done = run.now, done + 1
                continue
            heapq.heappush(run.finishing, (run.step + left[request] - 1, request, alive[request]))
            run.order.append(request)
        if run.used > run.capacity:
            _preempt(run, prompt, left, start, alive)
    return _summary(requests, arrived, first, last, run, running_sum, (ttft_target_s, tpot_target_s))


def _arrive(run: _Run, requests: Sequence[Request], arrived: list[float], coming: int, count: int, concurrency: int | None, done: int) -> int:
    if concurrency is not None:
        while coming < count and coming - done < concurrency:
            arrived[coming] = run.now
            run.waiting.append(coming)
            coming += 1
        return coming
    while coming < count and requests[coming].arrival_s <= run.now:
        arrived[coming] = requests[coming].arrival_s
        run.waiting.append(coming)
        coming += 1
    return coming


def _prefill(run: _Run, prompt: list[int], left: list[int]) -> tuple[float, list[int]]:
    """Prompt tokens of this step: (seconds they add, requests whose prompt is complete)."""
    seconds, budget, ready = 0.0, run.budget, list[int]()
    while budget > 0:
        if run.filling is None:
            seated = len(run.finishing) + len(ready)
            if not run.waiting or seated >= run.seats or (run.used + prompt[run.waiting[0]] + 1 > run.capacity and seated):
                break
            run.filling, run.filled = run.waiting.popleft(), 0
            run.used += prompt[run.filling] + 1
        take = min(prompt[run.filling] - run.filled, budget)
        seconds += run.times.prefill(take, run.filled)
        run.filled += take
        budget -= take
        if run.filled >= prompt[run.filling]:
            ready.append(run.filling)
            run.filling = None
    return seconds, ready


def _jump(run: _Run, requests: Sequence[Request], coming: int, concurrency: int | None, running: int) -> int:
    """Steps until the batch changes: the next request that ends, the next that arrives, or a cache about to overflow."""
    steps = run.finishing[0][0] - run.step
    if math.isfinite(run.capacity):
        steps = min(steps, int((run.capacity - run.used) / running) + 1)
    if concurrency is None and coming < len(requests) and running < run.seats:
        step_s = run.times.decode(running, run.used / running)
        steps = min(steps, int((requests[coming].arrival_s - run.now) / step_s) + 1)
    return max(steps, 1)


def _preempt(run: _Run, prompt: list[int], left: list[int], start: list[int], alive: list[int]) -> None:
    """Send the youngest running requests back to the head of the queue until the cache fits."""
    active = {request for _, request, version in run.finishing if alive[request] == version}
    while run.used > run.capacity and len(active) > 1:
        victim = run.order.pop()
        if victim not in active:
            continue
        active.discard(victim)
        written = run.step - start[victim] + 1
        run.used -= prompt[victim] + written
        prompt[victim] += written
        left[victim] -= written
        alive[victim] += 1
        run.waiting.appendleft(victim)
        run.preemptions += 1
    run.finishing = [entry for entry in run.finishing if alive[entry[1]] == entry[2]]
    heapq.heapify(run.finishing)


def _summary(
    requests: Sequence[Request], arrived: list[float], first: list[float], last: list[float], run: _Run, running: float, targets: tuple[float, float]
) -> Simulated:
    wait = [end - begin for begin, end in zip(arrived, first, strict=True)]
    token = [
        (end - begin + run.times.engine.request_s) / (request.output_tokens - 1) if request.output_tokens > 1 else 0.0
        for request, begin, end in zip(requests, first, last, strict=True)
    ]
    span = max(last) - min(arrived)
    good = sum(1 for a, b in zip(wait, token, strict=True) if a <= targets[0] and b <= targets[1])
    return Simulated(
        requests=len(requests),
        ttft_s=_percentiles(wait),
        tpot_s=_percentiles(value for value in token if value > 0),
        output_tokens_per_s=sum(request.output_tokens for request in requests) / span,
        requests_per_s=len(requests) / span,
        goodput_per_s=good / span,
        preemptions=run.preemptions,
        steps=run.steps,
        mean_running=running / max(run.steps, 1),
    )


def _percentiles(values: Iterable[float]) -> dict[str, float]:
    ordered = sorted(values)
    if not ordered:
        return {}
    out = {f"p{p}": ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))] for p in PERCENTILES}
    out["mean"] = sum(ordered) / len(ordered)
    return out
