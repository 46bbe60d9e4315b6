"""The page of limits says what the code does, and what is over a limit is refused at once, by name."""

import importlib
import re
import time
from pathlib import Path

import pytest

from serveright.catalog.own import LIMIT_BYTES, TOML_BYTES
from serveright.readers import launch, metrics
from tests.conftest import ROOT
from tests.fuzz.run import call, complaints

PAGE = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| [^|]+ \| ([\d,]+)( MiB)? \| `([\w.]+)` \|$", PAGE, re.MULTILINE)
PLAN = ["plan", "Qwen/Qwen3-8B", "--gpu", "h200", "--concurrency", "4"]
OVER = {
    "config": (["inspect"], "config.json", LIMIT_BYTES),
    "benchmark": (["diagnose", "--bench"], "bench.json", LIMIT_BYTES),
    "measurements": ([*PLAN, "--calibrate"], "points.toml", TOML_BYTES),
    "expert loads": ([*PLAN, "--expert-load"], "load.csv", LIMIT_BYTES),
    "nvidia-smi": (["diagnose", "--nvidia-smi"], "smi.txt", LIMIT_BYTES),
    "scores": (["choose", "--gpu", "h200", "--concurrency", "4", "--scores"], "scores.csv", LIMIT_BYTES),
    "traffic": ([*PLAN[:4], "--traffic"], "traffic.toml", TOML_BYTES),
    "GPU": (["check", "Qwen/Qwen3-8B", "--gpu"], "own.toml", TOML_BYTES),
    "stock": (["place"], "stock.toml", TOML_BYTES),
    "metrics": (["diagnose", "--metrics"], "page.metrics", metrics.MAX_BYTES),
    "script": (["audit"], "run.sh", launch.MAX_BYTES),
    "migrated": (["migrate", "--to", "sglang"], "run.sh", launch.MAX_BYTES),
}


@pytest.mark.parametrize(("number", "unit", "place"), ROWS, ids=[place for *_, place in ROWS])
def test_the_page_says_what_the_code_does(number: str, unit: str, place: str) -> None:
    module, _, name = place.rpartition(".")
    assert vars(importlib.import_module(module))[name] == int(number) * (1 << 20 if unit else 1)


def test_the_page_is_read() -> None:
    assert len(ROWS) == PAGE.count("| `serveright.")
    assert len(ROWS) > 20


@pytest.mark.parametrize("name", OVER)
def test_what_is_over_is_refused(name: str, tmp_path: Path) -> None:
    words, file, limit = OVER[name]
    path = tmp_path / file
    with path.open("wb") as stream:
        stream.truncate(limit + 1)
    start = time.process_time()
    outcome = call([words[0], str(path), *words[1:]] if words[0] == "migrate" else [*words, str(path)])
    assert outcome.code == 2
    assert not complaints(outcome, words, [str(path)])
    assert time.process_time() - start < 3


def test_one_object_too_large_is_left_out_of_a_fleet_and_said(tmp_path: Path) -> None:
    with (tmp_path / "huge.sh").open("wb") as stream:
        stream.truncate(launch.MAX_BYTES + 1)
    (tmp_path / "run.sh").write_text("vllm serve Qwen/Qwen3-8B\n", encoding="utf-8")
    outcome = call(["fleet", str(tmp_path), "--rows", str(tmp_path / "rows.jsonl"), "--jobs", "1"])
    assert outcome.code in (0, 1)
    assert "huge.sh is left out" in outcome.out
