"""Public vLLM start-ups: cache memory and concurrency with the model left out of the overhead's fit. The figures reached are floors."""

from pathlib import Path
from statistics import median

import pytest

from tools.accuracy.startup_vllm import failures, guesses
from tools.fit_memory.vllm import Guess

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def found(shared: Path) -> list[Guess]:
    return guesses(shared)[0]


def _sizes(errors: list[float | None]) -> list[float]:
    return sorted(abs(e) for e in errors if e is not None)


def test_cache_memory_and_concurrency_of_the_engines_own_builds(found: list[Guess]) -> None:
    own = [g for g in found if g.boot.confidence == "high" and not g.boot.fork and not g.boot.draft]
    memory, requests = _sizes([g.available_error for g in own]), _sizes([g.concurrency_error for g in own])
    print(
        f"vLLM start-ups, model left out: cache memory median {median(memory):.1%} of {len(memory)}, concurrency median {median(requests):.1%} of {len(requests)}"
    )
    assert len(memory) >= 16
    assert median(memory) <= 0.03
    assert memory[int(0.9 * len(memory))] <= 0.10
    assert len(requests) >= 12
    assert median(requests) <= 0.03


def test_layouts_give_the_logged_concurrency_from_the_logged_memory(found: list[Guess]) -> None:
    errors = _sizes([g.layout_error for g in found if not g.boot.draft])
    print(f"vLLM concurrency from logged cache memory: median {median(errors):.2%} of {len(errors)}")
    assert len(errors) >= 28
    assert median(errors) <= 0.002
    assert errors[int(0.9 * len(errors))] <= 0.02


def test_failed_start_ups_are_predicted(found: list[Guess]) -> None:
    assert len(failures(found)) >= 2
    assert [name for name, refused in failures(found) if not refused] == []
