"""A real vLLM on loopback: its own process group, a log file, a deadline; nothing is left behind."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".engine" / "bin" / "python"
BOOT_S = 420
"""Longest wait for a start on two busy cores."""


class Server(Struct, frozen=True, kw_only=True):
    """Where a server answers and what it wrote."""

    url: str
    log: Path
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def command(self) -> str:
        """The same start as an operator would have written it."""
        return "vllm serve " + " ".join(f"'{word}'" if re.search(r"[\s{}\"]", word) else word for word in self.arguments)


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(model: Path, log: Path, port: int, flags: tuple[str, ...], space_gib: str, dtype: str) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(log.parent),
        "VLLM_CPU_KVCACHE_SPACE": space_gib,
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "2",
    }
    invented = ("--load-format", "dummy", "--dtype", dtype, "--enforce-eager")
    words = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--host", "127.0.0.1", "--port", str(port), *invented, *flags]
    with log.open("wb") as sink:
        return subprocess.Popen(words, stdout=sink, stderr=subprocess.STDOUT, env=environment, start_new_session=True, cwd=log.parent)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number, patience in ((signal.SIGINT, 15), (signal.SIGKILL, 15)):
        if process.poll() is not None:
            break
        os.killpg(process.pid, number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    with suppress(ProcessLookupError):  # workers that outlived their parent are in the same group
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def serving(model: Path, log: Path, *flags: str, space_gib: str = "1", dtype: str = "float32") -> Iterator[Server]:
    """A server that answers; raises when it ends or does not answer in time."""
    port = _port()
    process = _start(model, log, port, flags, space_gib, dtype=dtype)
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + BOOT_S
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"the engine ended while starting:\n{log.read_text(errors='replace')[-3000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the engine did not answer in {BOOT_S} s:\n{log.read_text(errors='replace')[-3000:]}")
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(1)
        yield Server(url=url, log=log, arguments=(str(model), *flags))
    finally:
        _stop(process)


def failing(model: Path, log: Path, *flags: str, space_gib: str = "1", dtype: str = "float32") -> Server:
    """A start that must end by itself; what it wrote."""
    process = _start(model, log, _port(), flags, space_gib, dtype=dtype)
    try:
        process.wait(BOOT_S)
    finally:
        _stop(process)
    return Server(url="", log=log, arguments=(str(model), *flags))
