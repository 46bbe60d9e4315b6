"""The adapter to aiconfigurator: what it is asked, how its answer is shown, what happens without it."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from serveright import api
from serveright.api.planning import Wishes
from serveright.errors import UsageError
from serveright.types.answers import Answer
from serveright.types.traffic import Traffic


class Missing(Exception):
    """Stands for its download error."""


def ask() -> Answer:
    report = api.plan("Qwen/Qwen3-32B", "8xh200", Traffic(concurrency=64), engine="vllm", wishes=Wishes(cross_check=True))
    return next(answer for answer in report.answers if answer.code == "cross-check")


def installed(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    for name, members in (("aiconfigurator.cli.api", {"cli_estimate": answer}), ("aiconfigurator_core.sdk.utils", {"HuggingFaceDownloadError": Missing})):
        parts = name.split(".")
        for end in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)


def test_it_stands_beside_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def estimate(model: str, system: str, **given: Any) -> Any:
        seen.update(given, model=model, system=system)
        return SimpleNamespace(ttft=158.0, tpot=8.7, backend_version="0.24.0")

    before = api.plan("Qwen/Qwen3-32B", "8xh200", Traffic(concurrency=64), engine="vllm").candidates
    installed(monkeypatch, estimate)
    answer = ask()
    assert answer.values == {"tpot_s": pytest.approx(0.0087), "ttft_s": pytest.approx(0.158), "backend_version": "0.24.0"}
    assert (seen["model"], seen["system"], seen["backend_name"]) == ("Qwen/Qwen3-32B", "h200_sxm", "vllm")
    assert seen["tp_size"] * seen["attention_dp_size"] == seen["moe_tp_size"] * seen["moe_ep_size"]
    assert api.plan("Qwen/Qwen3-32B", "8xh200", Traffic(concurrency=64), engine="vllm", wishes=Wishes(cross_check=True)).candidates == before


@pytest.mark.parametrize("error", [ValueError("No database found"), Missing("no config")])
def test_what_it_does_not_know_is_said(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def estimate(*_: Any, **__: Any) -> Any:
        raise error

    installed(monkeypatch, estimate)
    assert ask().values == {"tpot_s": None, "ttft_s": None}


def test_without_the_package_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator", None)
    with pytest.raises(UsageError):
        ask()
