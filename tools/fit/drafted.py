"""Acceptance of drafted tokens from the rows measured with MTP. The rows do not say how many tokens were drafted, so one rate is sought for one token and
one for a chain of three, each as if all rows had drafted so many; the step model itself is the one fitted on rows without drafting."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from serveright.analysis import traffic as service
from serveright.analysis.speculation import Speculation
from serveright.types.calibration import Calibration
from serveright.types.traffic import Traffic
from tools.fit.evaluate import errors
from tools.fit.material import load_gpus, work_of
from tools.fit.model import kv_itemsize
from tools.fit.rows import Point, points_of

Array = Any
RATES = tuple(round(0.5 + 0.02 * step, 2) for step in range(21))
CHAIN = 3
BURST_SHARE = 0.12


def load_drafted(path: Path) -> list[Point]:
    """Points measured with the model's own prediction layers."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return points_of({**row, "spec_decode": "none"} for row in rows if str(row["spec_decode"]) == "mtp")


def predicted(points: list[Point], calibration: Calibration, tokens: int, rate: float) -> Array:
    """TPOT with `tokens` drafted and `rate` of them accepted."""
    gpus = load_gpus()
    return np.array([_tpot(point, gpus[point.gpu], calibration, Speculation(tokens=tokens, acceptance=rate)) for point in points])


def _tpot(point: Point, gpu: Any, calibration: Calibration, drafted: Speculation) -> float:
    lengths = (round(point.input_tokens), round(point.output_tokens))
    asked = Traffic(concurrency=round(point.concurrency), input_tokens=(lengths[0], lengths[0]), output_tokens=(lengths[1], lengths[1]))
    given = service.Conditions(engine=point.engine, kv_itemsize=kv_itemsize(point), speculation=drafted, burst_share=BURST_SHARE, age_years=point.age_years)
    return service.estimate(work_of(point), gpu, point.parallel, asked, calibration, given).tpot_s


def best_rate(points: list[Point], calibration: Calibration, tokens: int) -> tuple[float, Array]:
    """The rate without bias (median log error nearest to 0), and what it predicts."""
    measured = np.array([point.tpot for point in points])
    tried = [(rate, predicted(points, calibration, tokens, rate)) for rate in RATES]
    return min(tried, key=lambda pair: abs(float(np.median(np.log(pair[1] / measured)))))


def acceptance(points: list[Point], calibration: Calibration) -> dict[str, float]:
    """Keys of `Calibration.speculation`."""
    return {"acceptance": best_rate(points, calibration, 1)[0], "acceptance_chain": best_rate(points, calibration, CHAIN)[0]}


def gpu_left_out(points: list[Point], calibration: Calibration, tokens: int = 1) -> tuple[float, float, int]:
    """(median, 90th percentile, count) of the error, the rate taken from the other GPUs' rows each time."""
    measured = np.array([point.tpot for point in points])
    got = np.full(len(points), np.nan)
    for gpu in sorted({point.gpu for point in points}):
        inside = np.array([point.gpu == gpu for point in points])
        rate, _ = best_rate([p for p, hit in zip(points, inside, strict=True) if not hit], calibration, tokens)
        got[inside] = predicted([p for p, hit in zip(points, inside, strict=True) if hit], calibration, tokens, rate)
    return errors(got, measured)
