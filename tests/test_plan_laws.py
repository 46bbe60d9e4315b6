"""Laws of a plan: it fits by its own arithmetic, passes its own audit, and can be read back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright import api
from serveright.api import auditing, commands
from serveright.catalog.models import list_models
from serveright.types.reports import Chosen, PlanReport
from serveright.types.traffic import Traffic
from tests.budget import examples

MODELS = (
    "Qwen/Qwen3.6-27B",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-V3.2",
    "openai/gpt-oss-120b",
    "moonshotai/Kimi-K2-Instruct",
    "google/gemma-3-27b-it",
    "zai-org/GLM-4.5-Air",
)
GPUS = ("8xh200", "4xh100", "8xb200", "2xrtx4090", "8xa100-80gb")


def audit(chosen: Chosen, report: PlanReport) -> list[str]:
    """Codes at warning or above that our own audit finds in a planned command."""
    asked = commands.ask(f"{chosen.engine.name}@{chosen.engine.version}", f"{report.gpu.count}x{report.gpu.key}", report.model.id)
    found = auditing.audit_text(chosen.command.encode(), "plan.sh", asked)
    assert len(found.deployments) == 1
    return [f"{f.code} {f.message.template} {f.message.values}" for f in found.findings if f.severity != "note"]


@given(model=st.sampled_from(MODELS), gpu=st.sampled_from(GPUS), concurrency=st.sampled_from((1, 16, 256)))
@settings(max_examples=examples(15), deadline=None)
def test_a_plan_fits_and_passes_its_own_audit(model: str, gpu: str, concurrency: int) -> None:
    report = api.plan(model, gpu, Traffic(concurrency=concurrency))
    assert (report.chosen is None) == (not any(c.fits for c in report.candidates))
    for chosen in (report.chosen, *report.alternatives):
        if chosen is not None:
            assert audit(chosen, report) == []
    if report.chosen is not None:
        assert report.steps["memory"].fits


@given(context=st.sampled_from((4096, 16384, 65536, 131072)), model=st.sampled_from(MODELS))
@settings(max_examples=examples(15), deadline=None)
def test_a_longer_context_never_holds_more(context: int, model: str) -> None:
    for short, long in zip(
        api.size(model, "8xh200", context_tokens=context // 2).results, api.size(model, "8xh200", context_tokens=context).results, strict=True
    ):
        assert long.capacity.max_concurrency <= short.capacity.max_concurrency + 1e-9


@pytest.mark.parametrize("gpu", ["h100", "b200", "rtx4090", "mi300x"])
def test_every_model_of_the_catalogue_gets_an_answer(gpu: str) -> None:
    for listed in list_models()[::6]:
        report = api.check(listed.id, gpu)
        assert {c.engine for c in report.engines} == {"vllm", "sglang"}
        for check in report.engines:
            assert check.reasons or check.verdict == "best", listed.id
