"""What fuzzing found, one small input each: every one of these was a crash, a hang, a lost file or a message in Python's words."""

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.fuzz.run import call, complaints
from tests.fuzz.targets import BENCH, PROMETHEUS, STOCK

PLAN = ["plan", "Qwen/Qwen3-8B", "--gpu", "2xh200", "--concurrency", "8"]
LAUNCH = str(ROOT / "docs/examples/launch.sh")
REFUSED = {
    "benchmarks are no list": (["diagnose", "--bench"], "b.json", b'{"benchmarks": [1, "x", null]}', 1),
    "samples are no list": (["diagnose", "--bench"], "b.json", b'{"schema": "serveright.measure/1", "samples": 7}', 1),
    "metrics of a benchmark are a text": (["diagnose", "--bench"], "b.json", b'{"benchmarks": [{"metrics": "x"}]}', 1),
    "a bool is no figure": ([*PLAN, "--calibrate"], "b.json", json.dumps({**BENCH[1], "mean_tpot_ms": True, "mean_ttft_ms": []}).encode(), 2),
    "a series is a number": (["diagnose", "--metrics"], "a.json", b'{"data": {"resultType": "matrix", "result": [3]}}', 2),
    "labels are a text": (["diagnose", "--metrics"], "a.json", json.dumps(PROMETHEUS).replace('{"__name__": "vllm:num_requests_running", "instance": "a"}', '"x"').encode(), 2),
    "a value is no number": (["diagnose", "--metrics"], "a.json", json.dumps(PROMETHEUS).replace('"0.97"', '"x97"').encode(), 2),
    "a page with a broken sample": (["diagnose", "--metrics"], "p.metrics", b"vllm:num_requests_running x\n", 2),
    "a carriage return in a cell": ([*PLAN, "--expert-load"], "l.csv", b"1,2\r3,4\r5\r", 2),
    "a cell of 200,000 letters": ([*PLAN, "--expert-load"], "l.csv", b"1,2\n" + b"9" * 200_000 + b"x,3\n", 2),
    "an empty cell": ([*PLAN, "--expert-load"], "l.csv", b"1,2\n,4\n", 2),
    "loads in UTF-16": ([*PLAN, "--expert-load"], "l.csv", "1,2\n3,4\n".encode("utf-16"), 2),
    "a score of 200,000 letters": (["choose", "--gpu", "h200", "--concurrency", "8", "--scores"], "s.csv", b"a/b," + b"x" * 200_000 + b"\n", 2),
    "scores in Latin-1": (["choose", "--gpu", "h200", "--concurrency", "8", "--scores"], "s.csv", b"a/b\xe9,1\n", 2),
    "no overhead": ([*PLAN, "--calibrate"], "c.json", b'{"schema": "serveright.calibration/1", "engine": "vllm", "memory": 3}', 2),
    "an overhead of nothing": ([*PLAN, "--calibrate"], "c.json", b'{"schema": "serveright.calibration/1", "engine": "vllm", "memory": {"overhead": {"observed": 1, "derived": 0}}}', 2),
    "an engine nobody knows": ([*PLAN, "--calibrate"], "c.json", b'{"schema": "serveright.calibration/1", "engine": "x", "memory": {"overhead": {"observed": 1, "derived": 1}}}', 2),
    "a prompt of a thousandth": ([*PLAN, "--calibrate"], "b.json", json.dumps({**BENCH[0], "total_input_tokens": 0.1, "total_output_tokens": 0.1}).encode(), 2),
    "a typed prompt of a thousandth": ([*PLAN, "--calibrate"], "p.toml", b"[[point]]\nconcurrency = 1\ninput_tokens = 0.001\noutput_tokens = 0.001\ntpot_s = 0.1\n", 2),
    "prompts of no token": ([*PLAN[:4], "--traffic"], "t.toml", b"input_tokens = [0, 5]\n", 2),
    "a median above its p95": ([*PLAN[:4], "--traffic"], "t.toml", b"output_tokens = [500, 5]\n", 2),
    "a rate that is no number": ([*PLAN[:4], "--traffic"], "t.toml", b"rate_per_s = nan\n", 2),
    "nobody at once": ([*PLAN[:4], "--traffic"], "t.toml", b"concurrency = 0\n", 2),
    "a key misspelt": ([*PLAN[:4], "--traffic"], "t.toml", b"concurency = 5\n", 2),
    "a stock asked for answers of no token": (["place"], "p.toml", STOCK.replace("output_tokens = 200", "output_tokens = 0").encode(), 2),
    "traffic in Latin-1": ([*PLAN[:4], "--traffic"], "t.toml", b'# \xe9\nconcurrency = 3\n', 2),
    "traffic nested without end": ([*PLAN[:4], "--traffic"], "t.toml", b"a = " + b"[" * 3000, 2),
    "a number of 5,000 digits": ([*PLAN[:4], "--traffic"], "t.toml", b"concurrency = " + b"9" * 5000, 2),
    "a GPU in Latin-1": (["check", "Qwen/Qwen3-8B", "--gpu"], "g.toml", b"# \xe9\n", 2),
    "a stock in Latin-1": (["place"], "p.toml", b"# \xe9\n" + STOCK.encode(), 2),
    "one table where several belong": (["place"], "p.toml", STOCK.replace("[[model]]", "[model]", 1).split("[[model]]")[0].encode(), 2),
    "a table nobody reads": (["place"], "p.toml", (STOCK + "[[models]]\n").encode(), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_one_message(name: str, tmp_path: Path) -> None:
    words, file, data, code = REFUSED[name]
    path = tmp_path / file
    path.write_bytes(data)
    outcome = call([*words, str(path)])
    assert not complaints(outcome, words, [str(path)])
    assert outcome.code == (code if code == 2 else 0), outcome.err


@pytest.mark.parametrize(
    "header",
    [{"w": []}, {"w": {}}, {"w": {"data_offsets": 3}}, {"w": {"data_offsets": [1]}}, {"w": {"data_offsets": [0, "x"]}}, {"w": {"data_offsets": [1, 2, 3]}}],
)
def test_a_safetensors_header_that_is_none(header: object, tmp_path: Path) -> None:
    body = json.dumps(header).encode()
    (tmp_path / "config.json").write_bytes((ROOT / "tests/data/qwen3_8b.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(len(body).to_bytes(8, "little") + body)
    outcome = call(["inspect", str(tmp_path)])
    assert outcome.code == 2
    assert not complaints(outcome, [], [str(tmp_path)])


@pytest.mark.parametrize("model", ["Qwen/" + "A" * 300, "9" * 5000, "~nobody/x"])
@pytest.mark.parametrize("verb", [["audit"], ["audit", "--fix"], ["migrate", "--to", "sglang"]])
def test_a_model_no_path_can_be(verb: list[str], model: str, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"vllm serve {model} --config {'c' * 300}.yaml\n", encoding="utf-8")
    assert call([verb[0], str(script), *verb[1:]]).code in (0, 1)


def test_a_strategy_that_is_no_text_is_not_understood(tmp_path: Path) -> None:
    weights = {"num_bits": 4, "type": "int", "strategy": {"a": 1}, "group_size": 128}
    quant = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}
    config = {**json.loads((ROOT / "tests/data/qwen3_8b.json").read_bytes()), "quantization_config": quant}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    outcome = call(["inspect", str(tmp_path), "--json"])
    assert outcome.code == 0
    assert any("quantization_config" in one["path"] for one in json.loads(outcome.out)["unknown"])


def test_notes_of_measurements_are_said_once(tmp_path: Path) -> None:
    """Two points of one layout carry the same note; a message is no key of a dictionary."""
    path = tmp_path / "points.toml"
    point = "[[point]]\nconcurrency = {}\ninput_tokens = 1000\noutput_tokens = 200\ntpot_s = 0.02\n"
    path.write_text('engine = "vllm"\n' + point.format(8) + point.format(16), encoding="utf-8")
    outcome = call([*PLAN, "--calibrate", str(path)])
    assert outcome.code == 0, outcome


def test_a_file_that_is_no_row_file_is_left_as_it_is(tmp_path: Path) -> None:
    """`--rows notes.txt` cut the notes down to nothing."""
    notes = tmp_path / "notes.txt"
    notes.write_text("first line\nsecond line\n", encoding="utf-8")
    outcome = call(["fleet", LAUNCH, "--rows", str(notes), "--jobs", "1"])
    assert outcome.code == 2
    assert str(notes) in outcome.err
    assert notes.read_text(encoding="utf-8") == "first line\nsecond line\n"


def test_two_thousand_commands_are_not_corrected_for_ever(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    text = "vllm serve Qwen/Qwen3-8B --swap-space 16 --gpu-memory-utilization 0.99\n" * 1500
    script.write_text(text, encoding="utf-8")
    outcome = call(["audit", str(script), "--fix", "-q"])
    assert outcome.code in (0, 1), outcome.crash
    assert script.read_text(encoding="utf-8") == text


def test_line_ends_survive_a_correction(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_bytes(b"#!/bin/sh\r\nvllm serve Qwen/Qwen3-8B --swap-space 16\r\n")
    call(["audit", str(script), "--fix", "--engine", "vllm@0.33.0"])
    assert script.read_bytes().count(b"\r\n") == 2
    assert b"\r\r" not in script.read_bytes()


@pytest.mark.parametrize("digits", ["²", "9" * 5000, "-1", "1e3"])
def test_counts_that_are_no_counts(digits: str, tmp_path: Path) -> None:
    """`"²".isdigit()` is true, and int() refuses it; int() refuses thousands of digits, too."""
    manifest = tmp_path / "pod.yaml"
    limits = f"resources: {{limits: {{nvidia.com/gpu: '{digits}'}}}}"
    pod = f"kind: Pod\nspec:\n  replicas: '{digits}'\n  containers:\n  - image: vllm/vllm-openai:v0.33.0\n    args: [--model, a/b, --nnodes, '{digits}']\n    {limits}\n"
    manifest.write_text(pod, encoding="utf-8")
    assert call(["audit", str(manifest)]).code in (0, 1)
    for words in (["size", "Qwen/Qwen3-8B", "--gpu", f"{digits}xh200"], [*PLAN[:4], "--context", digits], [*PLAN[:4], "--image-size", f"{digits}x3"], [*PLAN[:4], "--engine", f"vllm@{digits}.1"]):  # fmt: skip
        outcome = call(words)
        assert outcome.code == 2
        assert not complaints(outcome, words, [*words, "--", "GPU", "version"])


def test_a_damaged_archive_of_a_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(b"INFO starting\n" * 1000)[:-20])
    outcome = call(["diagnose", "--log", str(path)])
    assert not complaints(outcome, [], [str(path)])


def test_a_folder_nobody_may_enter_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of another user's /proc; the superuser may enter everything, so the refusal is made here."""
    (tmp_path / "run.sh").write_text("vllm serve Qwen/Qwen3-8B\n", encoding="utf-8")
    (tmp_path / "closed.sh").write_text("", encoding="utf-8")
    asked = Path.is_file

    def refuse(path: Path) -> bool:
        if path.name == "closed.sh":
            raise PermissionError(13, "Permission denied", str(path))
        return asked(path)

    monkeypatch.setattr(Path, "is_file", refuse)
    assert call(["audit", str(tmp_path)]).code in (0, 1)
    assert call(["fleet", str(tmp_path), "--rows", str(tmp_path / "rows.jsonl"), "--jobs", "1"]).code in (0, 1)


def test_an_unknown_number_type_is_shown_short_and_placed(tmp_path: Path) -> None:
    config = {**json.loads((ROOT / "tests/data/qwen3_8b.json").read_bytes()), "torch_dtype": "bfloat16" * 1000, "dtype": "bfloat16" * 1000}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    outcome = call(["size", str(tmp_path), "--gpu", "h200"])
    assert not complaints(outcome, [], ["dtype"])


@pytest.mark.parametrize("path", ["C:\\\\models\\\\config.json", "models\\\\qwen", "C:/models/qwen/x", "..\\\\qwen"])
def test_a_path_of_windows_is_looked_for_as_a_path(path: str) -> None:
    """Never taken for a name of the Hub, never fetched."""
    outcome = call(["inspect", path])
    assert outcome.code == 2
    assert "no such file or folder" in outcome.err
