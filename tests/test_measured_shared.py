"""Left-out errors of the performance model on all measured points beside the project; reached figures are floors."""

from pathlib import Path
from typing import Any

import pytest

from tools.accuracy.performance import measured_arrays
from tools.fit import choice, evaluate
from tools.fit.__main__ import start
from tools.fit.rows import Point, load

pytestmark = pytest.mark.shared
LIMITS = {
    "layout": {"tpot": (0.07, 0.26), "throughput": (0.075, 0.325), "ttft_mean": (0.27, 0.72), "ttft_median": (0.22, 0.56)},
    "model": {"tpot": (0.1, 0.335), "throughput": (0.108, 0.33), "ttft_mean": (0.35, 0.88), "ttft_median": (0.23, 0.56)},
    "gpu": {"tpot": (0.1, 0.315), "throughput": (0.11, 0.34), "ttft_mean": (0.315, 0.83), "ttft_median": (0.21, 0.565)},
}
"""(median, 90th percentile) that must not be passed, a tenth above what was reached on 2026-11-29."""
Array = Any


@pytest.fixture(scope="module")
def points(shared: Path) -> list[Point]:
    return load(shared / "cases" / "measured.jsonl")


@pytest.fixture(scope="module")
def unseen_models(points: list[Point]) -> dict[str, Array]:
    return evaluate.left_out(points, start(), evaluate.GROUPS["model"])


def check(group: str, points: list[Point], got: dict[str, Array]) -> None:
    truth = measured_arrays(points)
    for target, limits in LIMITS[group].items():
        middle, tail, count = evaluate.errors(got[target], truth[target])
        print(f"{group} left out, {target}: {100 * middle:.1f} / {100 * tail:.1f} ({count})")
        assert middle < limits[0]
        assert tail < limits[1]


def test_enough_points_are_trusted(points: list[Point]) -> None:
    assert len(points) >= 1800
    assert len({point.cell for point in points}) >= 33


def test_known_cell_layout_left_out(points: list[Point]) -> None:
    check("layout", points, evaluate.left_out(points, start(), evaluate.GROUPS["layout"]))


def test_model_left_out(points: list[Point], unseen_models: dict[str, Array]) -> None:
    check("model", points, unseen_models)


def test_gpu_left_out(points: list[Point]) -> None:
    check("gpu", points, evaluate.left_out(points, start(), evaluate.GROUPS["gpu"]))


def test_layout_picked_beats_rules_that_know_nothing(points: list[Point], unseen_models: dict[str, Array]) -> None:
    same, node = (score(points, unseen_models["throughput"]) for score in (choice.equal_gpus, choice.eight_gpus))
    print(same, node)
    assert same.model >= 0.88
    assert same.model > same.naive
    assert node.model >= 0.84
    assert node.model > node.naive + 0.12
    assert node.regret < 0.035
