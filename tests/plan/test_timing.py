"""TTFT and TPOT open their derivation: every formula gives its result, and the results are the estimate's own."""

import math

import pytest

from serveright import api
from serveright.analysis.timing import LIMITS
from serveright.types.traffic import Traffic

CASES = (
    ("Qwen/Qwen3.6-27B", "2xh200", Traffic(concurrency=32)),
    ("deepseek-ai/DeepSeek-V3.2", "8xb200", Traffic(concurrency=64, input_tokens=(6144, 6144), output_tokens=(512, 512), shared_prefix_tokens=1024)),
    ("Qwen/Qwen3-30B-A3B", "2xl40s", Traffic(concurrency=512, input_tokens=(4096, 8192), output_tokens=(256, 1024))),
    ("Qwen/Qwen2.5-VL-7B-Instruct", "1xrtx4090", Traffic(rate_per_s=1.5, images_per_request=2.0)),
)


@pytest.mark.parametrize(("model", "gpu", "traffic"), CASES)
def test_the_estimate_is_derived(model: str, gpu: str, traffic: Traffic) -> None:
    report = api.plan(model, gpu, traffic)
    best = next(c for c in report.candidates if c.fits)
    assert best.estimate is not None
    steps = {step.name: step for step in report.derivation}
    for step in steps.values():
        assert eval(step.formula, {"__builtins__": {}}, dict(step.values)) == pytest.approx(step.result, rel=1e-9), step
    assert steps["tpot_s"].result == best.estimate.tpot_s
    assert steps["ttft_median_s"].result == best.estimate.ttft_median_s
    for part in ("dense", "cache", "messages", "host"):
        assert steps[f"{part}_s"].result == pytest.approx(best.estimate.parts[part], rel=1e-9), part
    experts = sum(step.result for name, step in steps.items() if name.startswith("experts_"))
    assert experts == pytest.approx(best.estimate.parts["experts"], rel=1e-9, abs=1e-15)
    assert steps["ttft_median_s"].values["queue_s"] >= 0
    assert 0 <= steps["tpot_s"].values["prefill_share"] < 1
    assert steps["dense_s"].formula == LIMITS
    assert not math.isnan(steps["step_s"].result)
