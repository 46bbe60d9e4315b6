"""The page under load, against the same server's answer with a file: `python -m benchmarks.page_load [--clients 50] [--seconds 20]`.

Starts `serveright serve`, then asks for (1) a style sheet, (2) one design again and again, (3) designs that differ in one control each, (4) a mix from many
clients at once. Waiting is by the clock, as a visitor waits; the goals are of the server's CPU, which other work on the machine does not change.
"""

import argparse
import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

RUN = [sys.executable, "-c", "from serveright.cli.main import main; main()", "serve", "--port", "0"]
DESIGN = "/design/Qwen/Qwen3.6-27B?gpu=2xh200-sxm"
MIX = (
    *[
        f"/design/{model}?gpu={gpu}&concurrency={n}"
        for model in ("Qwen/Qwen3.6-27B", "Qwen/Qwen3-8B", "openai/gpt-oss-20b")
        for gpu in ("2xh200", "1xh100")
        for n in (1, 16, 64)
    ],
    *[
        "/",
        "/facts/gpu",
        "/facts/rule",
        "/learn/attention",
        "/audit?text=vllm%20serve%20Qwen/Qwen3-8B%20-tp%203&gpu=4xh200",
        "/static/page.js",
        "/static/page.css",
    ],
)
GOALS = {"cached": 0.150, "changed": 0.300}
MOST_BYTES = 300e6


def ask(port: int, path: str) -> float:
    """Seconds of one GET; raises where it is not answered with 200."""
    start = time.perf_counter()
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    link.request("GET", path)
    answer = link.getresponse()
    answer.read()
    link.close()
    if answer.status not in (200, 302):
        raise RuntimeError(f"{answer.status} for {path}")
    return time.perf_counter() - start


def memory(pid: int) -> float:
    """Largest resident bytes the process ever had."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024  # pyright: ignore[reportOptionalSubscript]


def spent(pid: int) -> float:
    """Seconds of CPU the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Asked(NamedTuple):
    """Seconds waited for each answer, and the server's CPU for all of them."""

    times: list[float]
    cpu_s: float

    @property
    def each(self) -> float:
        """CPU seconds of one answer."""
        return self.cpu_s / max(1, len(self.times))


def asked(pid: int, ask_all: Callable[[], list[float]]) -> Asked:
    """The answers of one way of asking."""
    before = spent(pid)
    times = ask_all()
    return Asked(times, spent(pid) - before)


def crowd(port: int, clients: int, seconds: float, lost: list[str]) -> list[float]:
    """Times of `clients` that ask one after the other without pause; what got no answer goes to `lost`."""
    times: list[float] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        rng = random.Random(number)
        while time.monotonic() < end:
            try:
                times.append(ask(port, rng.choice(MIX)))
            except (OSError, RuntimeError, http.client.HTTPException) as error:
                lost.append(repr(error))

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def line(name: str, got: Asked, base: Asked) -> str:
    ordered = sorted(got.times)
    waited = f"{statistics.median(ordered) * 1e3:.1f} | {ordered[int(0.95 * len(ordered))] * 1e3:.1f}"
    return f"| {name} | {len(ordered)} | {waited} | {got.each * 1e3:.1f} | {got.each / base.each:.2g} |"


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--clients", type=int, default=50)
    options.add_argument("--seconds", type=float, default=20)
    chosen = options.parse_args()
    server = subprocess.Popen(RUN, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    port = int(server.stderr.readline().rsplit(":", 1)[1].split("/")[0])
    try:
        ask(port, DESIGN)
        files = asked(server.pid, lambda: [ask(port, "/static/page.css") for _ in range(200)])
        cached = asked(server.pid, lambda: [ask(port, DESIGN) for _ in range(200)])
        changed = asked(server.pid, lambda: [ask(port, f"{DESIGN}&concurrency={n}") for n in range(2, 42)])
        lost: list[str] = []
        mixed = asked(server.pid, lambda: crowd(port, chosen.clients, chosen.seconds, lost))
        peak = memory(server.pid)
    finally:
        server.terminate()
        server.wait(30)
    print("| asked for | answers | median wait ms | 95th percentile ms | CPU ms each | times a file |\n|---|---:|---:|---:|---:|---:|")
    rows = {"a style sheet": files, "one design again": cached, "designs that differ in one control": changed, f"a mix from {chosen.clients} clients": mixed}
    print(*(line(name, of, files) for name, of in rows.items()), sep="\n")
    print(f"\nLost answers: {len(lost)} {lost[:3] or ''}; largest memory of the server {peak / 2**20:.0f} MiB.")
    return 0 if cached.each < GOALS["cached"] and changed.each < GOALS["changed"] and not lost and peak < MOST_BYTES else 1


if __name__ == "__main__":
    raise SystemExit(main())
