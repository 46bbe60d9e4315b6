"""A trimmed set of public measurements (InferenceX and NVIDIA's gap analysis, two points per model, GPU, engine and precision) through the runtime door."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from serveright.analysis import traffic
from serveright.catalog.calibration import load_performance
from serveright.catalog.gpus import load_gpu
from serveright.types.design import Estimate
from serveright.types.engine import Parallel
from serveright.types.traffic import Traffic
from tools.fit.material import work_of
from tools.fit.model import kv_itemsize
from tools.fit.rows import REAL_LENGTH, Point

POINTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "measured_points.json").read_text())


def predict(row: dict[str, Any]) -> Estimate:
    parallel = Parallel(tp=row["tp"], dp=row["dp"], ep=row["ep"])
    length = REAL_LENGTH if row["harness"] == "inferencex" else 1.0
    prompt, answer = round(row["input_tokens"] * length), round(row["output_tokens"] * length)
    point = Point(
        id=row["id"], model=row["model"], precision=row["precision"], gpu=row["gpu"], engine=row["engine"], parallel=parallel,
        concurrency=row["concurrency"], input_tokens=prompt, output_tokens=answer, nominal=(row["input_tokens"], row["output_tokens"]),
        harness=row["harness"], age_years=row["age_years"], tpot=1.0, ttft_mean=None, ttft_median=None, per_gpu=1.0,
    )  # fmt: skip
    given = traffic.Conditions(engine=row["engine"], kv_itemsize=kv_itemsize(point), age_years=row["age_years"])
    asked = Traffic(concurrency=row["concurrency"], input_tokens=(prompt, prompt), output_tokens=(answer, answer))
    return traffic.estimate(work_of(point), load_gpu(row["gpu"]), parallel, asked, load_performance(), given)


@pytest.fixture(scope="module")
def ratios() -> list[tuple[float, float]]:
    """Predicted over measured: (TPOT, output tokens per second and GPU)."""
    out: list[tuple[float, float]] = []
    for row in POINTS:
        got = predict(row)
        out.append((got.tpot_s * 1e3 / row["tpot_ms"], got.output_tokens_per_s / row["tp"] / row["dp"] / row["output_tokens_per_s_per_gpu"]))
    return out


def test_token_time_is_close(ratios: list[tuple[float, float]]) -> None:
    assert median(abs(tpot - 1) for tpot, _ in ratios) < 0.11


def test_throughput_is_close(ratios: list[tuple[float, float]]) -> None:
    assert median(abs(rate - 1) for _, rate in ratios) < 0.13


def test_range_holds_most_points(ratios: list[tuple[float, float]]) -> None:
    """Factors come from left-out groups; these points were in the fit, so more than 80 % may lie inside, hardly fewer."""
    low, high = load_performance().interval["tpot"]
    assert sum(low <= 1 / tpot <= high for tpot, _ in ratios) / len(ratios) > 0.72


def test_a_roofline_alone_is_far_off() -> None:
    """What the step model adds: bytes at full bandwidth and nothing else miss by more than half."""
    ratio: list[float] = []
    for row in POINTS:
        parts = predict(row).parts
        ratio.append((parts["dense"] + parts["experts"] + parts["cache"]) * 0.8 * 1e3 / row["tpot_ms"])
    assert median(ratio) < 0.55
