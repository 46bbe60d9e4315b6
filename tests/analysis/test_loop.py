"""Waves of equal requests under a scheduler that puts prefill first, held to what can be counted by hand."""

import pytest
from msgspec import structs

from serveright.analysis.layout import split
from serveright.analysis.loop import Load, closed_loop, held_up
from serveright.types.calibration import Scheduling
from serveright.types.engine import Parallel
from tests.analysis.performance import CALIBRATION, HARDWARE, dense, gpu, work

ENGINE = Scheduling(request_s=0.0, poll_steps=0.0)
CUT = split(work(dense()), gpu(), Parallel(tp=1), CALIBRATION, 2.0)


@pytest.mark.parametrize(("concurrency", "answer"), [(16, 128), (64, 128), (64, 512)])
def test_a_wave_decodes_when_its_last_request_is_prefilled(concurrency: int, answer: int) -> None:
    """The mean request of a wave waits half the wave's prefills for its first token and the other half for its second."""
    got = closed_loop(CUT, HARDWARE, ENGINE, Load(concurrency=concurrency, input_tokens=2000, output_tokens=answer, together=1.0))
    half = (concurrency - 1) / 2 * got.prefill_s
    assert got.ttft_median_s == pytest.approx(half + got.prefill_s, rel=0.1)
    assert got.tpot_s == pytest.approx(got.step_s + half / answer, rel=0.1)
    assert got.requests_per_s == pytest.approx(concurrency / (2 * half + answer * got.step_s), rel=0.1)


def test_waves_change_who_waits_not_how_much_is_served() -> None:
    load = Load(concurrency=64, input_tokens=2000, output_tokens=256)
    apart = closed_loop(CUT, HARDWARE, ENGINE, load)
    together = closed_loop(CUT, HARDWARE, ENGINE, structs.replace(load, together=1.0))
    assert together.ttft_mean_s > 2 * apart.ttft_mean_s
    assert together.tpot_s < apart.tpot_s
    assert together.requests_per_s == pytest.approx(apart.requests_per_s, rel=0.1)


def test_more_prefill_holds_up_longer() -> None:
    for share in (0.0, 0.5, 1.0):
        times = [held_up(HARDWARE, busy / 10, share) for busy in range(10)]
        assert times[0] == 1
        assert times == sorted(times)
