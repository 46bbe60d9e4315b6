"""What a command costs, CPU time and memory, beside what its baseline costs in the same run."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

ENTRY = "from serveright.cli.main import main; main()"
HEAD = "| what | CPU s | peak MiB | against | CPU s | peak MiB | times as fast |\n|---|---:|---:|---|---:|---:|---:|"


class Cost(NamedTuple):
    """User and system time of one process and all it waited for, and its largest resident size."""

    cpu_s: float
    bytes: int


def command(words: Sequence[str], runs: int = 3) -> Cost:
    """The cheapest of some runs, output dropped; raises where it fails (exit code over 1)."""
    costs: list[Cost] = []
    for _ in range(runs):
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "LANG": "C.UTF-8"}) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            raise SystemExit(f"exit code {process.returncode}: {' '.join(words)}")
        costs.append(Cost(used.ru_utime + used.ru_stime, used.ru_maxrss << 10))
    return Cost(min(cost.cpu_s for cost in costs), min(cost.bytes for cost in costs))


def code(text: str, *words: str, runs: int = 3) -> Cost:
    """A Python program of this interpreter."""
    return command([sys.executable, "-c", text, *words], runs)


def serveright(*words: str, runs: int = 3) -> Cost:
    """One command of the product."""
    return code(ENTRY, *words, runs=runs)


def row(what: str, cost: Cost, against: str, base: Cost) -> None:
    """Print one line of the table `HEAD` begins."""
    sides = [f"{cost.cpu_s:.3f} | {cost.bytes / 2**20:.0f}", f"{base.cpu_s:.3f} | {base.bytes / 2**20:.0f}"]
    print(f"| {what} | {sides[0]} | {against} | {sides[1]} | {base.cpu_s / cost.cpu_s:.2g} |", flush=True)


def table(rows: Callable[[], None]) -> int:
    """Print the head and the rows."""
    print(HEAD)
    rows()
    return 0
