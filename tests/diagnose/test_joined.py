"""What is read together says more: pages with the command, a refused prompt with the window, a sentence that quotes a line."""

import io
from pathlib import Path

import pytest

from serveright.api.auditing import audit_text
from serveright.api.commands import Ask
from serveright.api.diagnosing import Bundle, diagnose
from serveright.readers.engine_log import read_stream, read_text
from serveright.readers.refusals import refusal

PAGE = """vllm:num_requests_running{{engine="0"}} {running}
vllm:num_requests_waiting{{engine="0"}} 9
vllm:gpu_cache_usage_perc{{engine="0"}} 0.99
vllm:kv_cache_usage_perc{{engine="0"}} 0.99
vllm:num_preemptions_total{{engine="0"}} {preempted}
"""


def page(tmp_path: Path, name: str, **values: int) -> str:
    path = tmp_path / name
    path.write_text(PAGE.format(**values))
    return str(path)


def test_preemption_seen_in_metrics_alone_gets_a_command(tmp_path: Path) -> None:
    pages = (page(tmp_path, "1", running=180, preempted=10), page(tmp_path, "2", running=200, preempted=400))
    command = "vllm serve Qwen/Qwen3-8B --max-model-len 32768 --max-num-seqs 256"
    report = diagnose(Bundle(metrics=pages, command=command, gpu="1xh100", version="0.33.0"))
    assert report.causes[0].code in ("PERF06", "MEM13")
    assert report.corrected_command is not None
    assert int(report.corrected_command.split("--max-num-seqs ")[1].split()[0]) <= 200
    again = audit_text(report.corrected_command.encode(), "-", Ask(gpu="1xh100", version="0.33.0"))
    assert not [finding for finding in again.findings if finding.severity == "error"]


@pytest.mark.parametrize(("window", "code"), [("163840", "MEM02"), ("59862", "DX11")])
def test_a_prompt_refused_below_the_window_speaks_of_the_pool(window: str, code: str, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("[2026-01-01 TP0] Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input.\n")
    command = f"python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 --context-length {window}"
    assert diagnose(Bundle(logs=(str(log),), command=command)).causes[0].code == code


def test_ranks_in_the_log() -> None:
    from serveright.analysis.evidence import log_signs

    line = "INFO [loggers.py:1] Engine 00{}: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: {} reqs, Waiting: 0 reqs, GPU KV cache usage: 3.0%, Prefix cache hit rate: 5.0%\n"
    uneven = read_text("".join(line.format(rank, 0 if rank == 3 else 40) for _ in range(5) for rank in range(4)), "log")
    even = read_text("".join(line.format(rank, 40) for _ in range(5) for rank in range(4)), "log")
    assert "metrics:ranks_uneven" in {sign.key for sign in log_signs(uneven)}
    assert "metrics:ranks_uneven" not in {sign.key for sign in log_signs(even)}


def test_the_fast_and_the_slow_way_read_the_same() -> None:
    usual = "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.5 tokens/s, Running: 7 reqs, Waiting: 3 reqs, GPU KV cache usage: 30.0%, Prefix cache hit rate: 5.0%"
    quick, slow = read_text(usual + "\n", "a").series, read_text(usual + ", MM cache hit rate: 0.0%\n", "b").series
    assert quick == slow


def test_what_users_wrote_is_no_evidence() -> None:
    asked = "INFO [logger.py:41] Received request chatcmpl-1: prompt: 'why CUDA out of memory. Tried to allocate 2 GiB and Too many open files?', params: x\n"
    assert "cuda_oom" not in read_text(asked, "log").facts
    assert "cuda_oom" in read_text(asked + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", "log").facts


def test_a_pipe_is_read() -> None:
    class Pipe(io.RawIOBase):
        """Reads once, never back."""

        def __init__(self, data: bytes) -> None:
            self.data = io.BytesIO(data)

        def read(self, size: int = -1) -> bytes:
            return self.data.read(size)

    log = read_stream(Pipe(b"ERROR ValueError: LoRA rank 64 is greater than max_lora_rank 16.\n"), "stdin")  # pyright: ignore[reportArgumentType]
    assert log.facts["lora_rank"].numbers["rank"] == 64


def test_a_sentence_may_quote_a_line() -> None:
    report = diagnose(Bundle(symptoms=("it says `RuntimeError: Failed to infer device type` and stops",)))
    assert report.causes[0].code == "DX25"


def test_a_line_is_shown_once() -> None:
    report = diagnose(Bundle(symptoms=("the GPU runs out of memory at startup",)))
    for cause in report.causes:
        lines = [(one.source, str(one.text)) for one in cause.evidence]
        assert len(lines) == len(set(lines))


def test_the_adapter_gets_its_rank(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("INFO [core.py:1] Initializing a V1 LLM engine (v0.33.0) with config: x\nERROR ValueError: LoRA rank 60 is greater than max_lora_rank 16.\n")
    report = diagnose(Bundle(logs=(str(log),), command="vllm serve Qwen/Qwen3-8B --enable-lora", gpu="1xh100", version="0.33.0"))
    assert report.causes[0].code == "LORA01"
    assert report.corrected_command is not None
    assert "--max-lora-rank 64" in report.corrected_command


def test_a_watched_server_silences_what_it_does_not_show(tmp_path: Path) -> None:
    """The cache never hits: findings of the audit that nobody saw do not come before the causes of that."""
    path = tmp_path / "m"
    path.write_text(
        'vllm:cache_config_info{enable_prefix_caching="True",engine="0"} 1\nvllm:prefix_cache_queries_total{engine="0"} 90000\n'
        'vllm:prefix_cache_hits_total{engine="0"} 0\nvllm:num_requests_running{engine="0"} 20\n'
    )
    report = diagnose(Bundle(metrics=(str(path),), command="vllm serve Qwen/Qwen3-32B --max-model-len 32768", gpu="1xh100", version="0.33.0"))
    assert report.causes[0].code in ("DX01", "HYB02")


def test_an_echo_without_its_error_asks_for_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n")
    report = diagnose(Bundle(logs=(str(log),)))
    assert not report.causes
    assert "echo" in report.next_checks[0].template


HEALTHY = """INFO 11-29 10:00:00 [core.py:133] Initializing a V1 LLM engine (v0.33.0) with config: model='x'
WARNING 11-29 10:00:00 [utils.py:1] Found ulimit of 1024. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n
INFO:     Application startup complete.
ERROR 11-29 10:10:59 [serving.py:1] VLLMValidationError: temperature must be non-negative, got -1.0.
"""


@pytest.mark.parametrize(("symptom", "code"), [("decoding is very slow", "PERF01"), ("도구를 안 써요", "PARSE01")])
def test_one_refused_request_does_not_explain_another_complaint(symptom: str, code: str, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(HEALTHY)
    report = diagnose(Bundle(logs=(str(log),), symptoms=(symptom,)))
    assert report.causes[0].code == code
    assert "DX19" not in {cause.code for cause in report.causes}


def test_a_gpu_without_a_count_is_not_one_gpu() -> None:
    command = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4"
    assert "PAR16" not in {cause.code for cause in diagnose(Bundle(command=command, gpu="h200", symptoms=("It does not start.",))).causes}
    assert "PAR16" in {cause.code for cause in diagnose(Bundle(command=command, gpu="1xh200", symptoms=("It does not start.",))).causes}


def test_an_error_about_something_else_outweighs_what_sizes_suggest(tmp_path: Path) -> None:
    """Weights that hardly fit explain no error of a kernel; they stay the word where the log only passes errors on."""
    log = tmp_path / "a.log"
    command = "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct"
    shares: list[float] = []
    for line in ("RuntimeError: Engine core initialization failed. See root cause above.", "RuntimeError: Expect (32 <= headDim <= 2048), got 544"):
        log.write_text(line + "\n")
        causes = diagnose(Bundle(logs=(str(log),), command=command, gpu="b200")).causes
        shares.append(sum(cause.likelihood for cause in causes if cause.code == "MEM10"))
    assert shares[1] < shares[0]


def test_a_message_of_common_words_is_no_refusal() -> None:
    assert refusal("ValueError: this thing does not support the other thing", None) is None
