"""CPU of whole commands against an interpreter that only imports click and msgspec: the least any such program costs."""

import os
import resource
import subprocess
import sys

RUNS = 7
ENTRY = "from serveright.cli.main import main; main()"
COMMANDS = (
    ("--help",),
    ("inspect", "Qwen/Qwen3.6-27B"),
    ("size", "Qwen/Qwen3.6-27B", "--gpu", "2xh200"),
    ("check", "deepseek-ai/DeepSeek-V3.2", "--gpu", "8xb200"),
    ("plan", "deepseek-ai/DeepSeek-V3.2", "--gpu", "8xh200"),
    ("plan", "deepseek-ai/DeepSeek-V3.2", "--gpu", "64xh200", "--nodes", "8"),
)


def cpu(words: list[str]) -> float:
    """Seconds of user and system time of the best of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=False, env={**os.environ, "LANG": "C.UTF-8"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main() -> None:
    """One line a command: seconds, and the ratio to the baseline."""
    base = cpu(["-c", "import click, msgspec"])
    print(f"baseline (python, click, msgspec): {base:.3f} s CPU")
    for words in COMMANDS:
        spent = cpu(["-c", ENTRY, *words])
        print(f"{spent / base:5.1f} x  {spent:.3f} s  serveright {' '.join(words)}")


if __name__ == "__main__":
    main()
