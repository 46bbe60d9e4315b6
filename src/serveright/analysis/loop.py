"""Continuous batching at a fixed concurrency, in closed form: how long a token and the first token take when prefill steals from decode.

`closed_loop` takes floats or numpy arrays alike (`tools/fit` evaluates all measured points at once). Knows nothing of engines or memory; those come in as numbers.
"""

import math

from msgspec import Struct

from serveright.analysis import roofline
from serveright.analysis.layout import Split
from serveright.types.calibration import Hardware, Scheduling

ITERATIONS = 14
BUSY = 16.0
"""Running requests from which on a new one meets a full pipeline of steps (`Scheduling.poll_steps`)."""
FULLEST = 0.97
"""Largest share of time the closed form lets prefill take."""


class Load(Struct, frozen=True, kw_only=True):
    """What a deployment is asked: requests at once, tokens per request, and how many requests its cache holds.

    `burst_share`: share of requests that arrive together at the start (a benchmark of 10 x concurrency requests has 0.1).
    `together`: share of requests that go in waves: equal requests under a scheduler that puts prefill first start decoding when the last of them is
    prefilled, and so end and come again together.
    `speculation`: drafted tokens per step, accepted tokens per step, and seconds of drafting.
    """

    concurrency: float
    input_tokens: float
    output_tokens: float
    cached_tokens: float = 0.0
    room: float = 1e9
    burst_share: float = 0.0
    together: float = 0.0
    imbalance: float = 1.0
    drafted: float = 0.0
    accepted: float = 1.0
    draft_s: float = 0.0
    age_years: float = 0.0
    """Age of the engine release against the newest one the factors were fitted on."""
    cold: float = 0.0
    """1 where the burst meets a server that never served before (kernels still to be compiled), 0 for a warm one."""
    receive_steps: float = 0.0
    """Steps a new request waits because the engine looks for new ones only every so many steps (0: at every step, the default of both engines)."""
    extra_prefill_s: float = 0.0
    """Per request: vision encoder, transfer of a disaggregated cache."""


class Service(Struct, frozen=True, kw_only=True):
    """Seconds and rates of one deployment in steady state. `busy` is the share of time prefill takes, `running` the requests in decode."""

    tpot_s: float
    ttft_median_s: float
    ttft_mean_s: float
    requests_per_s: float
    step_s: float
    prefill_s: float
    busy: float
    running: float


def decode_step(work: Split, hw: Hardware, load: Load, running: float, slowdown: float = 1.0, kernels: float = 1.0) -> float:
    """Seconds of one step with `running` sequences over all ranks, each halfway through its answer."""
    context = load.input_tokens + load.cached_tokens + load.output_tokens / 2
    parts = roofline.decode_parts(work, hw, running / work.dp, context, load.imbalance, 1 + load.drafted, kernels)
    return sum(parts.values()) * slowdown + load.draft_s


def prefill_cost(work: Split, hw: Hardware, load: Load, slowdown: float = 1.0) -> tuple[float, float]:
    """Seconds of one request's prefill: (the part other data-parallel ranks can do beside it, the part that occupies all of them)."""
    rank = roofline.prefill_rank_s(work, hw, load.input_tokens, load.cached_tokens) + load.extra_prefill_s
    return rank * slowdown, roofline.prefill_group_s(work, hw, load.input_tokens, load.imbalance) * slowdown


def slowdown(engine: Scheduling, load: Load) -> float:
    """This engine and release against the average one."""
    return engine.slowdown * math.e ** (engine.age_per_year * load.age_years)


def closed_loop(work: Split, hw: Hardware, engine: Scheduling, load: Load) -> Service:
    """Fixed point of: batch from times, step from batch, stolen time from throughput.

    Data-parallel ranks wait for each other in every layer, so a prefill stops all of them; the busier they are, the more of them prefill at once.
    """
    pace = slowdown(engine, load)
    rank, group = prefill_cost(work, hw, load, pace)
    alone = cost = rank + group
    inside = roofline.least(load.concurrency, load.room)
    waiting = load.concurrency - inside
    running = inside * 0.9 + 0.0 * alone
    tpot, ttft, busy = 0.0 * alone, alone, 0.0 * alone
    for turn in range(ITERATIONS):
        cost = group + rank / (1 + (work.dp - 1) * busy)
        step = decode_step(work, hw, load, running, pace, engine.kernels)
        per_token = step / load.accepted
        new_tpot = per_token * held_up(hw, busy, load.together)
        tpot = new_tpot if turn == 0 else (tpot + new_tpot) / 2
        waiting_steps = load.receive_steps * step
        queue = (1 - load.together) * hw.queue * busy / (1 - busy) / 2 * cost + load.together * (inside - 1) / 2 * cost
        ttft = engine.request_s + alone + first_token_wait(engine, work.dp, step, inside) + waiting_steps + queue
        whole = ttft + load.output_tokens * tpot
        rate = inside / whole
        share = rate * cost * (load.concurrency - 1) / load.concurrency
        busy = (busy + roofline.least(share, FULLEST)) / 2
        running = roofline.least((running + inside * load.output_tokens * tpot / whole) / 2, inside)
    step = decode_step(work, hw, load, running, pace, engine.kernels)
    rate = inside / (ttft + load.output_tokens * tpot)
    steady = ttft + waiting / rate
    burst = engine.request_s + alone + (inside - 1) / 2 * cost + engine.cold_start_s * load.cold + waiting / rate
    return Service(
        tpot_s=tpot,
        ttft_median_s=steady,
        ttft_mean_s=(1 - load.burst_share) * steady + load.burst_share * burst,
        requests_per_s=rate,
        step_s=step,
        prefill_s=cost,
        busy=busy,
        running=running,
    )


def held_up(hw: Hardware, busy: float, together: float) -> float:
    """Time per token over step time when prefills take the share `busy`: each running request waits for all of them, one of a wave for the half of its
    wave that is prefilled after it."""
    return (1 - together) / (1 - busy * hw.overlap) + together * (1 - busy / 2) / (1 - busy)


def first_token_wait(engine: Scheduling, dp: float, step: float, concurrency: float) -> float:
    """Half a step to the next scheduling point, the engine's polling once busy (a third below), and waiting for other attention ranks."""
    busy = concurrency**POLL_SHARPNESS / (concurrency**POLL_SHARPNESS + BUSY**POLL_SHARPNESS)
    polls = engine.poll_steps * (1 + 2 * busy) / 3
    ranks = 1 - roofline.least(1 / dp, 1)
    return step * (0.5 + polls + engine.rank_wait_steps * roofline.least(2 * ranks, 1))


POLL_SHARPNESS = 4
