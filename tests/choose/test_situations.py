"""The playbook's five situations come out of facts: what fits, what leads, and why."""

from collections import Counter

import pytest

from serveright import api
from serveright.types.choosing import Choice, ChooseReport
from serveright.types.traffic import Traffic


def first_tier(report: ChooseReport) -> list[Choice]:
    return [c for c in report.candidates if c.tier == 1]


def families(choices: list[Choice]) -> Counter[str]:
    return Counter(c.family for c in choices)


def codes(choice: Choice) -> set[str]:
    return {reason.code for reason in choice.reasons}


def test_one_gpu_for_one_person() -> None:
    report = api.choose("1xrtx-4090", Traffic(concurrency=1, input_tokens=(1024, 4096), output_tokens=(512, 1024)))
    lead = first_tier(report)
    assert all(c.weights_bytes < 24e9 and c.parallel is not None and c.parallel.gpus == 1 for c in lead)
    assert any("experts-few-read" in codes(c) for c in lead[:3]), "at batch one few bytes are read, so small-active models lead their size"
    assert all("cache-decides" not in codes(c) for c in lead[:3])


def test_a_mid_size_server() -> None:
    report = api.choose("4xa100-80gb", Traffic(concurrency=64, input_tokens=(2048, 8192), output_tokens=(512, 1024)))
    fits = [c for c in report.candidates if c.verdict == "fits"]
    assert not any(c.family == "dsa" for c in fits), "no indexer kernels below sm_90"
    assert max(c.weights_bytes for c in fits) < 320e9
    narrow = [c for c in fits if c.checkpoint_format in ("fp8", "nvfp4", "mxfp4")]
    assert all("format-unpacked" in codes(c) or "format-wastes-card" in codes(c) for c in narrow), "Ampere multiplies none of these itself"


def test_a_million_tokens() -> None:
    report = api.choose("8xb200", Traffic(concurrency=4, input_tokens=(900_000, 1_000_000), output_tokens=(1024, 2048)))
    fits = [c for c in report.candidates if c.verdict == "fits"]
    assert fits
    assert not {"gqa", "mha", "mqa"} & families(fits).keys()
    assert "dsa" in families(first_tier(report))
    assert sum("context-too-short" in codes(c) for c in report.candidates) > 100


def test_long_context_on_limited_hardware() -> None:
    report = api.choose("2xrtx-4090", Traffic(concurrency=2, input_tokens=(100_000, 120_000), output_tokens=(512, 1024)))
    lead = families(first_tier(report))
    assert lead["hybrid"] > 0.6 * lead.total(), lead
    assert "gqa" not in lead


def test_images() -> None:
    report = api.choose("8xh200", Traffic(concurrency=32, input_tokens=(500, 500), output_tokens=(256, 512), images_per_request=3, context_tokens=16384))
    fits = [c for c in report.candidates if c.verdict == "fits"]
    assert all({"images-cost", "image-size-unknown"} & codes(c) for c in fits)
    assert all("takes-no-images" in codes(c) for c in report.candidates if c.verdict == "rejected" and c.reasons[0].code == "takes-no-images")
    small, large = (
        api.choose(
            "8xh200",
            Traffic(concurrency=32, input_tokens=(500, 500), output_tokens=(256, 256), images_per_request=3, image_pixels=size, context_tokens=32768),
            among=("qwen3-vl-8b-instruct",),
        )
        for size in ((512, 512), (1024, 1024))
    )
    before, after = small.candidates[0].estimate, large.candidates[0].estimate
    assert before is not None
    assert after is not None
    assert after.ttft_median_s > 1.5 * before.ttft_median_s, "pixels decide the wait"


@pytest.mark.parametrize("gpu", ["4xtpu-v6e", "8xascend-910c"])
def test_a_chip_nobody_writes_about_is_said_not_guessed(gpu: str) -> None:
    report = api.choose(gpu, Traffic(concurrency=4), among=("Qwen/Qwen3-32B", "zai-org/GLM-5.2"))
    assert report.funnel.get("fits") == 0
    assert all("no-source" in codes(c) for c in report.candidates)
