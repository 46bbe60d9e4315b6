"""The verbs diagnose and measure as a user runs them: exit codes, streams, formats, harmless output."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.probes.fake import Fake, said, serve

ENTRY = "from serveright.cli.main import main; main()"
ERROR = "vllm: error: unrecognized arguments: --swap-space 4\n"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", ENTRY, *words], capture_output=True, text=True, check=False, timeout=120)


def test_exit_codes_and_json(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(ERROR)
    done = run("diagnose", "--log", str(log), "--command", "vllm serve Qwen/Qwen3-8B --swap-space 4", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["schema"] == "serveright.diagnose/1"
    cause = report["causes"][0]
    assert cause["code"] == "VER01"
    assert set(cause) >= {"code", "title", "likelihood", "evidence", "why", "fix"}
    assert set(cause["evidence"][0]) == {"source", "line", "text"}
    assert report["corrected_command"] == "vllm serve Qwen/Qwen3-8B"
    assert set(report) >= {"ruled_out", "not_a_fault", "next_checks"}
    assert run("diagnose", "--log", str(log), "--exit-zero").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose",),
        ("diagnose", "--log", "/no/such.log"),
        ("diagnose", "--metrics", "http://127.0.0.1:9"),
        ("diagnose", "--probe"),
        ("diagnose", "--watch"),
        ("measure", "http://127.0.0.1:9"),
    ],
)
def test_user_mistakes_are_one_message(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("serveright: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("format_", ["text", "markdown", "html", "json"])
def test_hostile_lines_stay_harmless(tmp_path: Path, format_: str) -> None:
    log = tmp_path / "a.log"
    log.write_text("\x1b]0;pwn\x07\x1b[2J<script>alert(1)</script>\x00 " + ERROR)
    done = run("diagnose", "--log", str(log), "--format", format_)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\x00" not in done.stdout
    if format_ == "html":
        assert "<script>alert" not in done.stdout


def test_korean(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(ERROR)
    done = run("diagnose", "--log", str(log), "--symptom", "서버가 시작이 안 돼요", "--lang", "ko")
    assert "이 릴리스가 명령의 플래그를 모릅니다" in done.stdout


def test_measure_of_a_server() -> None:
    with serve(Fake(lambda _: said("x"))) as url:
        done = run("measure", url, "--config", "no-such-model-anywhere", "--max-requests", "1", "--json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["schema"] == "serveright.measure/1"
    assert {"bytes_per_token", "state_bytes", "block_tokens", "capacity_tokens", "concurrency", "curves", "agreement", "samples"} <= set(report)
    assert "1 request of" in done.stderr


def test_interrupt_stops_cleanly() -> None:
    with serve(Fake(lambda _: said("x"))) as url:
        words = [sys.executable, "-c", ENTRY, "measure", url, "--config", "no-such-model-anywhere", "--json"]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        while "1 request" not in running.stderr.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["interrupted"] is True


def test_watch_reports_until_interrupted() -> None:
    with serve(Fake(lambda _: said("x"))) as url:
        words = [sys.executable, "-c", ENTRY, "diagnose", "--metrics", url, "--watch"]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stdout is not None
        assert "0 running" in running.stdout.readline()
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err


def test_a_bare_sentence_is_the_symptom_and_a_bare_file_is_asked_about(tmp_path: Path) -> None:
    bare, asked = run("diagnose", "out of memory", "--json"), run("diagnose", "--symptom", "out of memory", "--json")
    assert bare.stdout == asked.stdout
    assert json.loads(bare.stdout)["causes"]
    log = tmp_path / "server.log"
    log.write_text(ERROR)
    done = run("diagnose", str(log))
    assert done.returncode == 2
    assert f"--log {log}" in done.stderr
