import json
from pathlib import Path

import pytest

from serveright.errors import InputError
from serveright.readers.measured import read_measured

BENCH = {
    "completed": 10, "total_input_tokens": 20480, "total_output_tokens": 5120, "mean_ttft_ms": 400.0, "median_ttft_ms": 300.0, "mean_tpot_ms": 30.0,
    "request_throughput": 2.0, "output_throughput": 1024.0,
}  # fmt: skip


def write(tmp_path: Path, name: str, text: str) -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def test_a_benchmark_result_becomes_a_run(tmp_path: Path) -> None:
    (run,) = read_measured(write(tmp_path, "r.json", json.dumps({**BENCH, "max_concurrency": 32})))
    assert (run.concurrency, run.input_tokens, run.output_tokens) == (32, 2048, 512)
    assert run.measured == {"tpot_s": 0.03, "ttft_mean_s": 0.4, "ttft_median_s": 0.3, "output_tokens_per_s": 1024.0}


def test_concurrency_follows_from_the_rate_where_it_is_silent(tmp_path: Path) -> None:
    (run,) = read_measured(write(tmp_path, "r.json", json.dumps(BENCH)))
    assert run.concurrency == pytest.approx(2.0 * (0.4 + 0.03 * 512))


def test_typed_points_share_engine_and_layout(tmp_path: Path) -> None:
    text = 'engine = "vllm"\nlayout = "TP8"\n[[point]]\nconcurrency = 8\ninput_tokens = 100\noutput_tokens = 50\ntpot_s = 0.01\n'
    (run,) = read_measured(write(tmp_path, "r.toml", text))
    assert (run.engine, run.layout, run.measured) == ("vllm", "TP8", {"tpot_s": 0.01})


@pytest.mark.parametrize(
    ("name", "text"),
    [("r.json", "{}"), ("r.json", "no"), ("r.toml", "a ="), ("r.toml", "[[point]]\nconcurrency = 1\n"), ("r.toml", "[[point]]\ncolour = 1\n"),
     ("r.toml", "[[point]]\nconcurrency = 0\ninput_tokens = 1\noutput_tokens = 1\ntpot_s = 1\n"), ("r.json", json.dumps({"mean_ttft_ms": 1.0, "max_concurrency": 1}))],
)  # fmt: skip
def test_what_cannot_calibrate_says_why(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputError):
        read_measured(write(tmp_path, name, text))
