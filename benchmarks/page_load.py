"""Load on the page: `python benchmarks/page_load.py [--clients 50] [--seconds 20]`.

Starts `serveright serve`, then asks for (1) one design again and again, (2) designs that differ in one control each, (3) a mix from many clients at once.
Prints median and 95th percentile, what was lost, and the server's largest memory; exits 1 where a goal is missed.
"""

import argparse
import http.client
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def crowd(port: int, clients: int, seconds: float) -> tuple[list[float], list[str]]:
    """Times and losses of `clients` that ask one after the other without pause."""
    times: list[float] = []
    lost: list[str] = []
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
    return times, lost


def line(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    return f"{name:10} {len(times):6} answers  median {statistics.median(ordered) * 1e3:7.1f} ms  p95 {ordered[int(0.95 * len(ordered))] * 1e3:7.1f} ms"


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
        cached = [ask(port, DESIGN) for _ in range(50)]
        changed = [ask(port, f"{DESIGN}&concurrency={n}") for n in range(2, 42)]
        times, lost = crowd(port, chosen.clients, chosen.seconds)
        peak = memory(server.pid)
    finally:
        server.terminate()
        server.wait(30)
    print(line("cached", cached), line("changed", changed), line(f"{chosen.clients} clients", times), sep="\n")
    print(f"lost {len(lost)} {lost[:3]}  memory {peak / 1e6:.0f} MB")
    met = statistics.median(cached) < GOALS["cached"] and statistics.median(changed) < GOALS["changed"] and not lost and peak < MOST_BYTES
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
