"""Real faults, provoked and named from the real log and metrics."""

import threading

import pytest

from serveright.api.diagnosing import Bundle, diagnose
from serveright.probes.client import Server as Client
from serveright.types.diagnosis import DiagnoseReport
from tests.engine.server import Server

pytestmark = pytest.mark.engine


def first(report: DiagnoseReport) -> str:
    return report.causes[0].code


def test_context_too_long_for_the_cache(too_long: Server) -> None:
    report = diagnose(Bundle(logs=(str(too_long.log),), command=too_long.command, version="0.32.0"))
    assert first(report) == "MEM02", report.causes
    assert report.corrected_command is not None
    assert "--max-model-len" in report.corrected_command
    assert str(1 << 20) not in report.corrected_command


def test_unknown_flag(unknown_flag: Server) -> None:
    report = diagnose(Bundle(logs=(str(unknown_flag.log),), command=unknown_flag.command, version="0.32.0"))
    assert first(report) == "VER01", report.causes
    assert "--swap-space" not in (report.corrected_command or "--swap-space")


def test_wrong_parser(wrong_parser: Server) -> None:
    report = diagnose(Bundle(logs=(str(wrong_parser.log),)))
    assert first(report) == "PARSE09", report.causes


def test_missing_template(cramped: Server) -> None:
    answer = Client(cramped.url).chat([{"role": "user", "content": "w1 w2"}])
    assert answer.status == 400
    report = diagnose(Bundle(logs=(str(cramped.log),), symptoms=(f"every chat request fails: {answer.error}",)))
    assert report.causes[0].code == "PARSE10", report.causes


def test_preemption_under_load(cramped: Server) -> None:
    client = Client(cramped.url)
    from serveright.probes.ramp import prompt_of

    users = [threading.Thread(target=client.complete, args=(prompt_of(300), 640), kwargs={"extra_body": {"ignore_eos": True}}, daemon=True) for _ in range(8)]
    for user in users:
        user.start()
    for user in users:
        user.join(300)
    report = diagnose(Bundle(logs=(str(cramped.log),), metrics=(cramped.url,), symptoms=("답이 느려졌습니다",)))
    assert first(report) == "PERF06", report.causes
