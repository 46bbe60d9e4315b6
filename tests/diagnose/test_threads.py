"""Public threads and sentences: what is known by name is named, what is not known is not guessed at. First-sight figures stand in `cases/first_run.toml`."""

import re
from pathlib import Path

import pytest

from serveright.api.diagnosing import Bundle, diagnose
from serveright.readers.refusals import refusal, refusals
from tools.accuracy.threads import CASES, counted, counted_sentences, threads

FLOORS = {"threads_3": 0.9, "threads_4": 0.9, "threads_5": 0.9, "threads_6": 0.8}
"""Where a smaller share than the usual is reached."""


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("threads*.jsonl")))
def test_threads(name: str) -> None:
    found, missed = counted(name)
    of = sum(found.values())
    print(found, missed)
    assert found["first"] >= FLOORS.get(name, 0.93) * of, missed
    assert found["wrong"] <= 0.02 * of, missed


def test_every_thread_has_a_source_and_a_ground() -> None:
    for path in CASES.glob("threads*.jsonl"):
        for thread in threads(path.stem):
            assert re.fullmatch(r"https://github\.com/[\w./-]+/(issues|pull)/\d+", thread.url)
            assert thread.basis
            assert thread.log or thread.symptom or thread.command


def test_sentences() -> None:
    found, silent, harmless = counted_sentences()
    of = sum(found.values())
    assert found["first"] >= 0.93 * of
    assert found["first"] + found["three"] >= 0.97 * of
    assert silent == harmless


GENERIC = """AttributeError: 'NoneType' object has no attribute 'shape'
TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'foo'
RuntimeError: CUDA error: device-side assert triggered
IndexError: list index out of range
ValueError: not enough values to unpack (expected 2, got 1)
RuntimeError: The size of tensor a (4096) must match the size of tensor b (5120) at non-singleton dimension 1
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
ConnectionRefusedError: [Errno 111] Connection refused
pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig
ValueError: frobnication of 17 heads is not divisible here""".splitlines()


@pytest.mark.parametrize("line", GENERIC)
def test_words_of_python_and_torch_are_no_refusal(line: str) -> None:
    assert refusal(line, None) is None


def test_every_topic_has_a_cause() -> None:
    """A refusal of each kind, as the engine writes it, is explained with a repair."""
    for engine, rows in refusals().items():
        for topic in sorted({row.topic for row in rows}):
            row = next(row for row in rows if row.topic == topic)
            found = refusal(f"ValueError: {row.text} 8", engine)
            assert found is not None
            assert found.module


def test_a_refused_setting_goes(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "INFO [core.py:1] Initializing a V1 LLM engine (v0.33.0) with config: x\n"
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n"
        "  Value error, disable_any_whitespace is only supported for xgrammar and guidance backends. [type=value_error]\n"
    )
    report = diagnose(Bundle(logs=(str(log),)))
    assert report.causes[0].code in ("CFG01", "REQ02")
    assert report.causes[0].fix
