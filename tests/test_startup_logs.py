"""Public vLLM start-ups collected here, which no other folder is needed for: with the calibration the product ships, and its failures."""

from statistics import median

import pytest

from serveright.catalog.vllm import load_vllm_memory
from tools.fit_memory.boots import read_boots
from tools.fit_memory.vllm import Guess, cases, guess


@pytest.fixture(scope="module")
def found() -> list[Guess]:
    boots, _ = read_boots(None)
    return [guess(case, load_vllm_memory()) for case in cases(boots)]


def test_every_row_is_rebuilt() -> None:
    assert read_boots(None)[1] == []


def test_cache_memory_with_the_shipped_calibration(found: list[Guess]) -> None:
    errors = sorted(abs(g.available_error) for g in found if g.available_error is not None and g.boot.confidence == "high")
    assert len(errors) >= 18
    assert median(errors) <= 0.02


def test_failed_start_ups_are_refused(found: list[Guess]) -> None:
    failed = {g.boot.id: g.refused for g in found if g.boot.failed}
    assert failed == dict.fromkeys(failed, True)
    assert len(failed) >= 3


def test_layouts(found: list[Guess]) -> None:
    errors = sorted(abs(g.layout_error) for g in found if g.layout_error is not None)
    assert len(errors) >= 20
    assert median(errors) <= 0.002
