"""Copies for a rate curve: enough at every moment, started before they are needed, never more than the peak."""

from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis.autoscaling import copies_for, schedule

RATES = st.floats(0.1, 500)
CURVES = st.lists(st.tuples(st.integers(0, 86_000).map(float), RATES), min_size=1, max_size=12, unique_by=lambda point: point[0])


@given(CURVES, st.floats(0.5, 50), st.integers(0, 3600))
def test_enough_copies_are_ready_at_every_moment(curve: list[tuple[float, float]], rate: float, startup: int) -> None:
    made = schedule(curve, 86_400, rate, startup)
    points = sorted(curve)
    for at, wanted in points:
        ready = [step.copies for step in made.steps if step.at_s <= max(points[0][0], at - startup)]
        running = ready[-1]
        assert running * rate >= wanted or running >= copies_for(wanted, rate, 1.0) or at - startup < points[0][0]
        now = [step.copies for step in made.steps if step.at_s <= at][-1]
        assert now * rate * 0.8 >= wanted * (1 - 1e-6)
    assert made.peak == copies_for(max(wanted for _, wanted in points), rate)
    assert made.copy_hours <= made.fixed_copy_hours * (1 + 1e-9)


@given(RATES, RATES, st.floats(0.5, 50))
def test_more_requests_never_need_fewer_copies(one: float, other: float, rate: float) -> None:
    low, high = sorted((one, other))
    assert copies_for(low, rate) <= copies_for(high, rate)


def test_a_day() -> None:
    made = schedule([(0, 2), (8 * 3600, 20), (20 * 3600, 5)], 86_400, 4, 1800)
    assert [(step.at_s / 3600, step.copies) for step in made.steps] == [(0, 1), (7.5, 7), (20, 2)]
    assert made.copy_hours == 7.5 + 12.5 * 7 + 4 * 2
