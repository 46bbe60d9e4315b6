"""Logs a real vLLM 0.32.0 wrote on the CPU when it was started wrongly (`tests/engine` provokes them anew); paths are replaced."""

from pathlib import Path

import pytest

from serveright.api.diagnosing import Bundle, diagnose

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize(("name", "code"), [("long", "MEM02"), ("flag", "VER01"), ("parser", "PARSE09")])
def test_recorded_failure(name: str, code: str) -> None:
    report = diagnose(Bundle(logs=(str(RECORDED / f"{name}.log"),)))
    assert report.causes[0].code == code, report.causes
    assert report.causes[0].likelihood > 0.8


def test_the_window_is_cut_to_what_the_engine_said_fits() -> None:
    log = str(RECORDED / "long.log")
    report = diagnose(Bundle(logs=(log,), command="vllm serve /models/long --max-model-len 1048576 --dtype float32", version="0.32.0"))
    assert report.corrected_command is not None
    length = int(report.corrected_command.split("--max-model-len ")[1].split()[0])
    assert 0.9 * 524288 < length <= 524288
