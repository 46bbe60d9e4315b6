import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.analysis import layout, loop
from serveright.analysis.simulate import Request, StepTimes, closed, poisson, simulate
from serveright.types.engine import Parallel
from tests.analysis.performance import CALIBRATION, HARDWARE, dense, gpu, work
from tests.budget import examples

ENGINE = CALIBRATION.scheduling["*/*"]
SPLIT = layout.split(work(dense()), gpu(), Parallel(), CALIBRATION, 2.0)
TIMES = StepTimes(SPLIT, HARDWARE, ENGINE)


@pytest.mark.parametrize("concurrency", [4, 32, 128])
def test_agrees_with_the_closed_form(concurrency: int) -> None:
    got = simulate(TIMES, closed(concurrency * 20, (2048, 2300), (512, 640), seed=3), seats=1024, concurrency=concurrency)
    load = loop.Load(concurrency=float(concurrency), input_tokens=2050.0, output_tokens=516.0)
    want = loop.closed_loop(SPLIT, HARDWARE, ENGINE, load)
    assert got.tpot_s["mean"] == pytest.approx(want.tpot_s, rel=0.15)
    assert got.requests_per_s == pytest.approx(want.requests_per_s, rel=0.15)


def test_same_seed_same_answer() -> None:
    runs = [simulate(TIMES, poisson(3.0, 300, (1024, 4096), (128, 512), seed=7), seats=256) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != simulate(TIMES, poisson(3.0, 300, (1024, 4096), (128, 512), seed=8), seats=256)


def test_one_request_alone_by_hand() -> None:
    got = simulate(TIMES, [Request(5.0, 1024, 4)], seats=8)
    prefill = TIMES.prefill(1024, 0)
    steps = 3 * TIMES.decode(1, 1026)
    assert got.ttft_s["p50"] == pytest.approx(prefill + ENGINE.request_s)
    assert got.tpot_s["p50"] == pytest.approx((steps + ENGINE.request_s) / 3 - ENGINE.request_s / 3 + 0, rel=0.2)


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 3000), st.integers(1, 200)), min_size=1, max_size=30), st.integers(1, 8))
@settings(deadline=None, max_examples=examples(50))
def test_every_request_ends_even_when_the_cache_is_tight(raw: list[tuple[float, int, int]], seats: int) -> None:
    requests = sorted((Request(*item) for item in raw), key=lambda r: r.arrival_s)
    got = simulate(TIMES, requests, seats=seats, capacity_tokens=3300, budget_tokens=512)
    assert got.requests == len(requests)
    assert all(math.isfinite(value) and value > 0 for value in got.ttft_s.values())
    assert got.mean_running <= seats


def test_a_full_cache_preempts() -> None:
    requests = [Request(0.0, 100, 900) for _ in range(8)]
    tight, free = (simulate(TIMES, requests, seats=8, capacity_tokens=size) for size in (2500.0, math.inf))
    assert tight.preemptions > 0 == free.preemptions
    assert tight.output_tokens_per_s < free.output_tokens_per_s


def test_a_request_that_never_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than the whole cache"):
        simulate(TIMES, [Request(0.0, 100, 100)], seats=1, capacity_tokens=50)


def test_burst_hurts_the_tail_more_than_the_median() -> None:
    burst = [Request(0.0, 2048, 128) for _ in range(64)] + [Request(60.0 + i, 2048, 128) for i in range(600)]
    got = simulate(TIMES, burst, seats=256)
    assert got.ttft_s["p99"] > 3 * got.ttft_s["p50"]
    assert got.ttft_s["mean"] > got.ttft_s["p50"]


def test_requests_of_a_closed_loop_are_there_from_the_start() -> None:
    assert {request.arrival_s for request in closed(50, (100, 200), (10, 20))} == {0.0}
