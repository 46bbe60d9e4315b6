"""Common start-up failures, each from a log alone, with cause and repair; advice never against what is already on."""

from pathlib import Path

import pytest

from serveright.api.diagnosing import Bundle, diagnose
from serveright.api.texts import diagnose_texts
from serveright.errors import InputError, NetworkError
from serveright.types.diagnosis import DiagnoseReport

PLANTED = [
    ("VER01", "usage: vllm serve [model_tag] [options]\nvllm: error: unrecognized arguments: --swap-space 4\n"),
    ("PAR01", "pydantic_core.ValidationError: Value error, Total number of attention heads (28) must be divisible by tensor parallel size (8).\n"),
    ("MEM02", "ValueError: To serve at least one request with the model's max seq len (262144), (40.0 GiB KV cache is needed, which is larger than the available KV cache memory (11.2 GiB). Based on the available memory, the estimated maximum model length is 73392.\n"),
    ("MEM10", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 310.81 MiB is free.\n"),
    ("VER03", "pydantic_core.ValidationError: Value error, Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys([...])\n"),
    ("DX08", "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/a/b.\n401 Client Error.\n"),
    ("DX07", "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use\n"),
    ("PAR16", "ValueError: World size (8) is larger than the number of available GPUs (4) in this node.\n"),
    ("ARCH11", "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n"),
    ("MEM08", "ValueError: Free memory on device cuda:0 (21.1/79.15 GiB) on startup is less than desired GPU memory utilization (0.92, 72.82 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"),
    ("ARCH10", "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.\n"),
    ("DX09", "ValueError: The repository a/b contains custom code which must be executed to correctly load the model. Please pass the argument `trust_remote_code=True`.\n"),
    ("DX06", "RuntimeError: unable to open shared memory object </torch_1> in read-write mode: No space left on device (28)\n"),
    ("DX05", "[123.4] Out of memory: Killed process 4242 (python3) total-vm:402653184kB\n"),
    ("PARSE09", "KeyError: \"invalid tool call parser: qwen9 (chose from { hermes,mistral })\"\n"),
    ("ARCH11", "RuntimeError: The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver.\n"),
    ("DX27", "Warning  Unhealthy  2m (x30 over 12m)  kubelet  Startup probe failed: Get \"http://10.1.2.3:8000/health\": dial tcp 10.1.2.3:8000: connect: connection refused\n"),
    ("DX26", "Warning  Unhealthy  2m (x3 over 8h)  kubelet  Liveness probe failed: Get \"http://10.1.2.3:8000/health\": context deadline exceeded\n"),
    ("MEM06", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.mem_fraction_static=0.5\n"),
]  # fmt: skip


def of(text: str, tmp_path: Path, **more: str) -> DiagnoseReport:
    path = tmp_path / "server.log"
    path.write_text(
        "INFO 11-29 10:00:00 [core.py:133] Initializing a V1 LLM engine (v0.33.0) with config: x\n" * ("fraction" not in text and "[2026]" not in text) + text
    )
    return diagnose(Bundle(logs=(str(path),), **more))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("code", "text"), PLANTED, ids=[f"{code}-{i}" for i, (code, _) in enumerate(PLANTED)])
def test_planted_failure(code: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("Traceback (most recent call last):\n" + text)
    report = diagnose(Bundle(logs=(str(path),)))
    assert report.causes[0].code == code, [(cause.code, cause.likelihood) for cause in report.causes]
    assert report.causes[0].likelihood > 0.3
    assert report.causes[0].fix
    assert report.causes[0].evidence[0].line >= 2


def test_an_error_nobody_knows_is_told_in_its_own_words(tmp_path: Path) -> None:
    report = of(
        "ERROR [core.py:1] ValueError: frobnication of 17 heads is not divisible here\nRuntimeError: Engine core initialization failed. See root cause above.\n",
        tmp_path,
    )
    assert report.causes[0].code == "GEN01"
    assert "frobnication" in str(report.causes[0].title.values)


def test_opposite_out_of_memory_of_sglang(tmp_path: Path) -> None:
    """At the start and while serving the same flag wants opposite moves; the phase in the log decides."""
    start = of("Not enough memory. Please try to increase --mem-fraction-static.\n", tmp_path)
    serving = of("[2026] The server is fired up and ready to roll!\n[2026] Prefill out of memory. Try to lower your batch size.\n", tmp_path)
    assert (start.causes[0].code, serving.causes[0].code) == ("MEM06", "MEM16")
    assert "Raise" in start.causes[0].fix[0].template
    assert "Lower" in serving.causes[0].fix[0].template


@pytest.mark.parametrize(
    ("code", "text", "given"),
    [
        ("MEM06", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "--mem-fraction-static 0.6"),
        ("MEM04", "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.19 GiB.", "--mem-fraction-static 0.95 --tp 2"),
        ("PERF06", "KV cache pool is full. Retract requests. #retracted_reqs: 12\n" * 3, "--schedule-conservativeness 0.3 --tp 2"),
    ],
)
def test_sglang_gets_its_own_memory_back(code: str, text: str, given: str, tmp_path: Path) -> None:
    """The number by hand goes; SGLang's own fits."""
    report = of(
        text + "\n", tmp_path, command=f"python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B {given}", gpu="2xh100" if "tp" in given else "1xh100"
    )
    assert report.causes[0].code == code
    assert report.corrected_command
    assert given.split()[0] not in report.corrected_command
    lines = [(one.source, one.line, str(one.text)) for one in report.causes[0].evidence]
    assert len(lines) == len(set(lines))


def test_advice_never_contradicts_what_metrics_show(tmp_path: Path) -> None:
    page = tmp_path / "m.txt"
    page.write_text(
        'vllm:cache_config_info{enable_prefix_caching="True",engine="0"} 1\nvllm:prefix_cache_queries_total{engine="0"} 90000\nvllm:prefix_cache_hits_total{engine="0"} 0\n'
    )
    report = diagnose(
        Bundle(
            metrics=(str(page),),
            symptoms=("prefix cache never hits",),
            command="vllm serve Qwen/Qwen3.6-27B --max-model-len 65536",
            version="0.20.0",
            gpu="1xh200",
        )
    )
    assert "HYB01" not in {cause.code for cause in report.causes}
    assert "HYB01" in {out.code for out in report.ruled_out}


def test_the_derivation_meets_the_log(tmp_path: Path) -> None:
    text = "INFO Model loading took 61.03 GiB memory and 12.0 seconds\nINFO Available KV cache memory: 4.45 GiB\nINFO GPU KV cache size: 36,448 tokens\n"
    report = of(text, tmp_path, command="vllm serve Qwen/Qwen3-32B --max-model-len 32768", gpu="1xh100")
    parts = {part.name: part for part in report.memory}
    assert parts["weights"].verdict == "agrees"
    assert parts["bytes_per_token"].verdict == "differs"
    assert "another precision" in parts["bytes_per_token"].text.template


def test_inputs_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        diagnose(Bundle())
    with pytest.raises(InputError):
        diagnose(Bundle(logs=(str(tmp_path / "absent"),)))
    with pytest.raises(NetworkError):
        diagnose(Bundle(metrics=("http://127.0.0.1:9/metrics",)))
    report = diagnose(Bundle(metrics=("http://127.0.0.1:9/metrics",), symptoms=("slow",)))
    assert report.notes
    strange = tmp_path / "m"
    strange.write_text("go_goroutines 12\n")
    assert diagnose(Bundle(metrics=(str(strange),), symptoms=("slow",))).notes


def test_empty_inputs_are_said(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    for bundle in (Bundle(logs=(str(empty),)), Bundle(metrics=(str(empty),))):
        assert [note.template for note in diagnose(bundle).notes] == ["{source} is empty"]


def test_a_calibration_moves_later_plans(tmp_path: Path) -> None:
    """The log showed twice the overhead: the next plan's pool shrinks by that much."""
    from serveright.api.diagnosing import write_calibration
    from serveright.api.engines import load_engines, with_local_memory
    from serveright.api.loading import load_model
    from serveright.api.sized import size_on
    from serveright.catalog.gpus import parse_gpu_spec
    from serveright.readers.local_memory import is_local_memory, read_local_memory
    from serveright.types.engine import Settings

    text = "INFO Model loading took 61.03 GiB memory and 12.0 seconds\nINFO Available KV cache memory: 6.00 GiB\nINFO GPU KV cache size: 24,576 tokens\n"
    report = of(text, tmp_path, command="vllm serve Qwen/Qwen3-32B --max-model-len 16384", gpu="1xh100")
    path = str(tmp_path / "local.json")
    write_calibration(report, path)
    assert is_local_memory(path)
    local = read_local_memory(path)
    engine, model, fleet = load_engines("vllm@0.33.0")[0], load_model("Qwen/Qwen3-32B"), parse_gpu_spec("1xh100")
    before, after = (size_on(one, model, fleet, Settings(), 16384).memory for one in (engine, with_local_memory(engine, local)))
    assert after.overhead_bytes == pytest.approx(before.overhead_bytes * local.overhead, rel=0.01)
    with pytest.raises(InputError):
        write_calibration(of("no memory here\n", tmp_path), path)


def test_a_refused_text_is_called_by_its_name() -> None:
    with pytest.raises(InputError) as told:
        diagnose_texts({"metrics": "http://127.0.0.1:9"})
    assert told.value.message.values["source"] == "metrics"
