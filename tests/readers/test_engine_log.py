"""Logs as they come: prefixed, coloured, zipped, cut off, hostile; and every known line found by its own text."""

import gzip
import io
import re
import tracemalloc
from pathlib import Path

import pytest

from serveright.errors import InputError
from serveright.readers.engine_log import read_log, read_stream, read_text
from serveright.readers.log_lines import KnownLine, known_lines

ONE_REQUEST = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available "
    "KV cache memory (9.5 GiB). Based on the available memory, the estimated maximum model length is 77824."
)
# written by vLLM 0.32.0 on this project's own test machine
START = """INFO 11-29 16:53:23 [api_utils.py:286] non-default args: {'host': '127.0.0.1', 'port': 59421, 'model': '/m', 'max_model_len': 1024}
(EngineCore pid=1) INFO 11-29 16:54:06 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='/m'
(EngineCore pid=1) INFO 11-29 16:54:25 [kv_cache_utils.py:2327] CPU KV cache size: 524,288 tokens, Maximum concurrency for 1,024 tokens per request: 512.00x
(APIServer pid=1) INFO 11-29 16:54:28 [entry.py:140] Starting vLLM server on http://127.0.0.1:59421
(APIServer pid=1) INFO 11-29 16:54:39 [loggers.py:335] Engine 000: Avg prompt throughput: 30.0 tokens/s, Avg generation throughput: 0.8 tokens/s, Running: 3 reqs, Waiting: 2 reqs, Preemptions: 4, CPU KV cache usage: 97.5%, Prefix cache hit rate: 12.5%
"""


def keys(text: str) -> set[str]:
    return {sign.key for sign in read_text(text, "log").signs}


def test_start_up_facts_and_periodic_figures() -> None:
    log = read_text(START, "log")
    assert (log.engine, log.version, log.started) == ("vllm", "0.32.0", True)
    assert log.facts["kv_tokens"].numbers == {"tokens": 524288.0, "length": 1024.0, "concurrency": 512.0}
    assert log.arguments is not None
    assert log.series["preemptions"].high == 4
    assert log.series["kv_usage"].last == pytest.approx(0.975)
    assert log.series["hit_rate"].last == pytest.approx(0.125)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "2026-11-29T10:00:00.123Z stderr F ",
        "vllm-0  | ",
        "(EngineCore_DP0 pid=77) ERROR 11-29 [core.py:900] ",
        '{"log":"',
        "Nov 29 10:00:00 host vllm[12]: ",
        "[rank3] ",
    ],
)
def test_prefixes_do_not_matter(prefix: str) -> None:
    sign = next(sign for sign in read_text(f"noise\n{prefix}{ONE_REQUEST}\n", "log").signs if sign.key == "log:kv_one_request")
    assert sign.line == 2
    assert sign.numbers["max_length"] == 77824
    assert sign.numbers["needed_gib"] == 16


def test_colours_inside_a_message() -> None:
    assert "log:kv_one_request" in keys(ONE_REQUEST.replace("at least", "at \x1b[1;31mleast\x1b[0m"))


def test_hostile_lines_become_harmless_text() -> None:
    text = "\x1b]0;title\x07\x1b[2J<script>alert(1)</script>\x9b31m\x00" + ONE_REQUEST + "\r"
    sign = next(sign for sign in read_text(text, "log").signs)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", str(sign.text))
    assert "<script>" in str(sign.text)  # text stays text; only the HTML output escapes it


def test_zipped_and_cut_off(tmp_path: Path) -> None:
    whole = gzip.compress((START + ONE_REQUEST + "\n" + "tail\n" * 50_000).encode())
    (tmp_path / "a.log.gz").write_bytes(whole)
    assert "log:kv_one_request" in {sign.key for sign in read_log(tmp_path / "a.log.gz").signs}
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) - 30])
    cut = read_log(tmp_path / "cut.gz")
    assert cut.notes
    (tmp_path / "junk.gz").write_bytes(b"\x1f\x8b" + bytes(range(256)) * 20)
    assert read_log(tmp_path / "junk.gz").notes


def test_binary_junk_and_a_line_without_end() -> None:
    junk = bytes(range(256)) * 20_000 + ONE_REQUEST.encode() + b"x" * 3_000_000
    log = read_stream(io.BytesIO(junk), "junk")
    assert log.bytes == len(junk)
    assert "log:kv_one_request" in {sign.key for sign in log.signs}


def test_what_is_no_log_is_said(tmp_path: Path) -> None:
    assert read_text("hello\nworld\n", "x").notes
    assert read_text("", "x").signs == ()
    with pytest.raises(InputError):
        read_log(tmp_path / "absent.log")


def test_memory_stays_constant() -> None:
    class Endless(io.RawIOBase):
        def __init__(self, size: int) -> None:
            self.left, self.line = size, START.encode() + b"INFO: 10.0.0.1 - POST /v1/chat/completions 200 OK\n" * 200

        def read(self, size: int = -1) -> bytes:
            take = min(self.left, len(self.line) * 8)
            self.left -= take
            return (self.line * 8)[:take]

        def seek(self, *_: int) -> int:
            return 0

    peaks: list[int] = []
    for size in (8 << 20, 48 << 20):
        tracemalloc.start()
        log = read_stream(Endless(size), "big")  # pyright: ignore[reportArgumentType]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert log.series["running"].count > 100
    assert peaks[1] < peaks[0] * 1.5 + (4 << 20)


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(START * 20_000)
    seen: list[tuple[int, int]] = []
    read_log(path, lambda done, size: seen.append((done, size)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert len(seen) > 3


ALL = [(name, line) for name, lines in known_lines().items() for line in lines]


@pytest.mark.parametrize(("name", "line"), ALL, ids=[f"{name}:{line.key}" for name, line in ALL])
def test_every_known_line_has_a_source_and_is_found(name: str, line: KnownLine) -> None:
    assert line.sources
    assert all(
        source.startswith(("vllm ", "sglang ", "sglang:", "https://", "github.com/")) or name == "common" or "recorded" in source or "argparse" in source
        for source in line.sources
    )
    if line.pattern is None:
        assert all(f"log:{line.key}" in keys(f"ERROR {text} (1)") for text in line.texts)


# SGLang 0.5.23's own formats (weights, pools, batches) with figures of ours; the line on running requests as in github.com/sgl-project/sglang/issues/30160
SGLANG = """[2026-08-01 10:00:00 TP0] Load weight begin. avail mem=78.66 GB
[2026-08-01 10:00:30 TP0] Load weight end. elapsed=28.10 s, type=Qwen3_5MoeForConditionalGeneration, avail mem=43.61 GB, mem usage=35.05 GB.
[2026-08-01 10:00:31 TP0] Mamba Cache is allocated. max_mamba_cache_size: 150, conv_state size: 0.33GB, ssm_state size: 8.79GB
[2026-08-01 10:00:31 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1012345, K size: 9.65 GB, V size: 9.65 GB
[2026-08-01 10:00:33 TP0] max_running_requests was reduced from requested 128 to 50
[2026-08-01 10:02:00 TP0] Decode batch, #running-req: 40, #full token: 1200, full token usage: 0.12, mamba num: 120, mamba usage: 0.80, cuda graph: False, gen throughput (token/s): 812.5, #queue-req: 9
[2026-08-01 10:00:40] The server is fired up and ready to roll!
"""


def test_sglang_lines() -> None:
    log = read_text(SGLANG, "log")
    assert log.engine == "sglang"
    assert log.started
    assert log.facts["weights_end"].numbers["weights_gib"] == 35.05
    assert log.facts["state_allocated"].numbers["slots"] == 150
    assert {"log:running_cut", "log:eager_decode"} <= {sign.key for sign in log.signs}
    assert log.series["waiting"].last == 9
    assert log.series["state_usage"].last == pytest.approx(0.8)
    assert log.series["kv_usage"].last == pytest.approx(0.12)


def test_a_line_counts_once_for_one_fact() -> None:
    """Two known wordings of one fact stand in the same line."""
    log = read_text("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n" * 2, "log")
    assert [sign.count for sign in log.signs if sign.key == "log:init_no_memory"] == [2]
