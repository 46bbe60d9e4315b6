"""The arithmetic of a measurement: slopes, fixed parts, agreement within one block."""

from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis.live import Pool, Rung, agreement, curve, figures, growth, pool_of
from serveright.types.diagnosis import Tokens

POOL = Pool(units=1001, unit_tokens=16, bytes=1001 * 16 * 2048, tokens=16016, concurrency=None, state_dtype=None, state_copies=1)


@given(block=st.sampled_from([1, 16, 64, 128, 1152]), fixed=st.integers(0, 12), short=st.integers(1, 4000), more=st.integers(5000, 60000))
def test_growth_is_found_again(block: int, fixed: int, short: int, more: int) -> None:
    rungs = [Rung(requests=1, tokens=t, units=fixed + -(-t // block)) for t in (short, short + more)]
    found = growth(rungs, block)
    assert found is not None
    assert abs(1 / found.per_token - block) < 1e-6 * block
    assert abs(found.fixed - fixed) < 1e-6 * max(1, found.units(short + more, block))


def test_one_length_is_no_slope() -> None:
    assert growth([Rung(requests=1, tokens=100, units=7)], 16) is None
    assert growth([], 16) is None


def test_no_config_no_verdict() -> None:
    grown = growth([Rung(requests=1, tokens=160, units=10), Rung(requests=1, tokens=1600, units=100)], 16)
    pairs = figures(POOL, grown, None, 4096)
    assert agreement(pairs, POOL, 4096) == "unknown"
    capacity = pairs["capacity_tokens"]
    assert isinstance(capacity, Tokens)
    assert capacity.measured == 1000 / 256 * 4096


def test_pools_of_both_engines() -> None:
    assert pool_of({}, {}) is None
    assert pool_of({"num_gpu_blocks": "None"}, {}) is None
    sglang = pool_of({}, {"capacity_tokens": 1000})
    assert sglang is not None
    assert sglang.unit_tokens == 1


def test_curves() -> None:
    found = curve([(1, 1.5), (2, 2.0), (4, 3.0)], "request")
    assert found is not None
    assert (round(found.base_s, 9), round(found.slope_s, 9), round(found.error, 9)) == (1.0, 0.5, 0.0)
    assert curve([(1, 1.0)], "request") is None


def test_lengths_that_stand_twice_do_not_hide_the_slope() -> None:
    found = growth([Rung(requests=1, tokens=t, units=t // 16) for t in (160, 1600, 160)], 16)
    assert found is not None
    assert found.per_token == 1 / 16
