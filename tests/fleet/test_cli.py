"""The verbs as people run them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.synthetic import folder

MAIN = [sys.executable, "-c", "from serveright.cli.main import main; main()"]


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run([*MAIN, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_fleet(tmp_path: Path) -> None:
    root = folder(tmp_path / "fleet", 12)
    report = json.loads(run("fleet", str(root), "--rows", str(tmp_path / "a.jsonl"), "--jobs", "1", "--json", "--exit-zero"))
    assert report["schema"] == "serveright.fleet/1"
    assert report["deployments"] == 12
    text = run("fleet", str(root), "--rows", str(tmp_path / "a.jsonl"), "--jobs", "1", "--lang", "ko", "--exit-zero")
    assert "규칙별" in text
    other = folder(tmp_path / "other", 12, seed=1)
    run("fleet", str(other), "--rows", str(tmp_path / "b.jsonl"), "--jobs", "2", "--exit-zero")
    diff = json.loads(run("fleet", "--compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), "--json"))
    assert len(diff["changed"]) + diff["same"] == 12


@pytest.mark.parametrize("words", [["fleet"], ["fleet", "/nowhere"], ["place", "/nowhere.toml"]])
def test_mistakes_get_a_message(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*MAIN, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("serveright:")


def test_place(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[stock]\nl40s = 2\n[[model]]\nid = "Qwen/Qwen3-8B"\nrate_per_s = 1\ninput_tokens = 500\noutput_tokens = 100\n')
    report = json.loads(run("place", str(file), "--engine", "vllm", "--json"))
    assert report["short"] == []
    assert report["placed"][0]["offer"]["gpu"] == "l40s"
    file.write_text(file.read_text().replace("rate_per_s = 1", "rate_per_s = 500"))
    assert "Short" in run("place", str(file), "--engine", "vllm", "--lang", "en", code=1)


def test_scale() -> None:
    report = json.loads(run("scale", "Qwen/Qwen3-8B", "--gpu", "1xl40s", "--engine", "vllm", "--curve", "0h:1,8h:30,20h:5", "--tpot", "0.05", "--json"))
    copies = [step["copies"] for step in report["steps"]]
    assert max(copies) == report["peak_copies"]
    assert report["peak_copies"] * report["copy_rate_per_s"] * report["headroom"] >= 30
    rise = next(step for step in report["steps"] if step["copies"] == report["peak_copies"])
    assert rise["at_s"] == 8 * 3600 - report["startup_s"]
    assert report["copy_hours"] < report["fixed_copy_hours"]
    run("scale", "Qwen/Qwen3-8B", "--gpu", "1xl40s", "--curve", "nonsense", code=2)
    run("scale", "Qwen/Qwen3-8B", "--gpu", "1xl40s", "--curve", "0h:nan", code=2)
