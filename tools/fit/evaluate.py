"""Left-out errors: each group is predicted by a fit that never saw it."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from serveright.types.calibration import Calibration
from tools.fit.material import load_gpus, work_of
from tools.fit.model import TARGETS, Stack, stack
from tools.fit.rows import Point
from tools.fit.solve import Solution, fit

Array = Any
LAYOUT_FOLDS = 5
GENERATION = {"h100-sxm": "hopper", "h200-sxm": "hopper", "b200-sxm": "blackwell", "gb200": "blackwell", "mi300x": "cdna3", "mi355x": "cdna4"}
GROUPS: dict[str, Callable[[Point], Hashable]] = {
    "layout": lambda p: sum(map(ord, str(p.layout))) % LAYOUT_FOLDS,
    "model": lambda p: p.model,
    "gpu": lambda p: p.gpu,
    "generation": lambda p: GENERATION[p.gpu],
}


def stacked(points: list[Point], calibration: Calibration) -> Stack:
    """All points with their shapes and GPUs."""
    return stack(points, work_of, load_gpus(), calibration)


def left_out(points: list[Point], calibration: Calibration, group: Callable[[Point], Hashable]) -> dict[str, Array]:
    """Predictions of every point by a fit without its group."""
    out = {name: np.full(len(points), np.nan) for name in TARGETS}
    for value in sorted({group(point) for point in points}, key=str):
        inside = np.array([group(point) == value for point in points])
        solution = fit(stacked([p for p, hit in zip(points, inside, strict=True) if not hit], calibration))
        got = solution.predict(stacked([p for p, hit in zip(points, inside, strict=True) if hit], calibration))
        for name, values in out.items():
            values[inside] = got[name]
    return out


def fitted(points: list[Point], calibration: Calibration) -> tuple[Solution, dict[str, Array]]:
    """The fit on everything, and what it says of its own points."""
    data = stacked(points, calibration)
    solution = fit(data)
    return solution, solution.predict(data)


def errors(predicted: Array, measured: Array) -> tuple[float, float, int]:
    """(median, 90th percentile, count) of |predicted / measured - 1|."""
    known = ~np.isnan(measured)
    off = np.abs(predicted[known] / measured[known] - 1)
    return float(np.median(off)), float(np.percentile(off, 90)), int(known.sum())


def interval(logs: list[Array], share: float = 0.8) -> tuple[float, float]:
    """Factors around a prediction that hold `share` of measured / predicted."""
    ratio = -np.concatenate([values[~np.isnan(values)] for values in logs])
    low, high = np.percentile(ratio, [50 * (1 - share), 50 * (1 + share)])
    return float(np.exp(low)), float(np.exp(high))
