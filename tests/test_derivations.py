"""Every formula that is shown, evaluated with the numbers beside it, gives the result beside it."""

import math
from collections.abc import Iterator

import pytest

from serveright import api
from serveright.errors import UserError
from serveright.types.derivation import Derivation
from serveright.types.engine import Parallel, Settings
from serveright.types.reports import SizeReport

FUNCTIONS = {"ceil": math.ceil, "floor": math.floor, "lcm": math.lcm, "min": min, "max": max, "round": round}
MODELS = (
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3.6-27B",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Pro",
    "google/gemma-4-31B-it",
    "moonshotai/Kimi-Linear-48B-A3B-Instruct",
    "openai/gpt-oss-120b",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "MiniMaxAI/MiniMax-M3",
    "ibm-granite/granite-4.0-h-small",
)
SETTINGS = (
    ("8xh200", Settings(parallel=Parallel(tp=0))),
    ("8xb300", Settings(parallel=Parallel(tp=8), kv_dtype="fp8")),
    ("4xrtx-pro-6000", Settings(parallel=Parallel(tp=2))),
    ("rtx4090", Settings(parallel=Parallel(tp=1))),
    ("8xmi300x", Settings(parallel=Parallel(tp=4, dp=2), speculative_method="mtp", speculative_tokens=1)),
)


def derivations(report: SizeReport) -> Iterator[Derivation]:
    yield from report.derivation
    for result in report.results:
        yield from result.derivation


@pytest.mark.parametrize("model", MODELS)
def test_every_formula_gives_its_result(model: str) -> None:
    seen: set[str] = set()
    for gpu, settings in SETTINGS:
        for step in derivations(api.size(model, gpu, settings=settings, context_tokens=20_011)):
            assert set(step.values) <= set(step.formula.replace("(", " ").replace(")", " ").replace(",", " ").split()), step
            assert eval(step.formula, {"__builtins__": {}}, FUNCTIONS | step.values) == pytest.approx(step.result, rel=1e-12, abs=0), step
            seen.add(step.name.split(".")[0])
    assert {"logical_bytes_per_sequence", "kv_pool_bytes", "max_concurrency"} <= seen


def test_the_pool_derived_is_the_pool_reported() -> None:
    for gpu in ("8xh200", "rtx4090"):
        for result in api.size("Qwen/Qwen3-32B", gpu, context_tokens=4096).results:
            derived = [step.result for step in result.derivation if step.name == "kv_pool_bytes"]
            assert derived == [result.memory.kv_pool_bytes]


@pytest.mark.parametrize("context", [0, -1])
def test_a_request_without_tokens_is_refused(context: int) -> None:
    with pytest.raises(UserError, match="--context"):
        api.size("Qwen/Qwen3-32B", "h200", context_tokens=context)
