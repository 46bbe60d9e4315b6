"""`python -m benchmarks [--update] [--quick] [NAME...]`: run the benchmarks; `--update` writes their tables to docs/reference/speed.md.

Each module is one section: the first line of its docstring, then the table it prints, in a fresh interpreter. The first failure is the exit code.
"""

import argparse
import importlib
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "speed.md"
SECTIONS = ("seven_models", "start_up", "sizes", "searches", "loading", "audits", "fleet", "large_log", "page_load")
QUICK = {"audits": ["1000"], "fleet": ["1000"], "large_log": ["128"], "page_load": ["--clients", "10", "--seconds", "5"]}
HEAD = """# How fast it is

Made by `python -m benchmarks --update` on {today}, {machine}. Every figure stands beside a baseline or a peer measured in the same run: the ratio carries over to
other machines, the seconds do not. CPU s is user and system time of the whole command from start to end, the best of a few runs where it is short; peak is its
largest resident memory. "Times as fast" below 1 means slower than the baseline, which for a bare loop or a parser is the least the work can cost.

The peers are installed from the package index into environments of their own. kvfit and hf-mem are answered from files instead of the Hub, so that no network is timed.
"""


def section(name: str, words: list[str]) -> str:
    """Title and table of one benchmark, shown while it runs."""
    what = str(importlib.import_module(f"benchmarks.{name}").__doc__).partition("\n")[0].partition(": `python")[0].rstrip(".")
    head = f"## {title(name)}\n\n{what}.\n"
    print(f"\n{head}", flush=True)
    lines: list[str] = []
    with subprocess.Popen([sys.executable, "-m", f"benchmarks.{name}", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        raise SystemExit(process.returncode)
    return f"{head}\n{''.join(lines)}"


def write(name: str, made: str) -> None:
    """Put one section into the page; the others stay as they were measured."""
    found = PAGE.read_text(encoding="utf-8").split("\n## ")[1:] if PAGE.exists() else []
    kept = {part.partition("\n")[0]: f"## {part}" for part in found}
    kept[title(name)] = made
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores of {platform.machine()}"
    ordered = [kept[title(name)].strip() + "\n" for name in SECTIONS if title(name) in kept]
    PAGE.write_text("\n".join([HEAD.format(today=date.today(), machine=machine), *ordered]), encoding="utf-8")


def title(name: str) -> str:
    """`large_log` as a heading."""
    return name.replace("_", " ").capitalize()


def main() -> int:
    """Run, and write the page where asked."""
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", choices=[*SECTIONS, []], help="only these")
    options.add_argument("--update", action="store_true", help="write docs/reference/speed.md")
    options.add_argument("--quick", action="store_true", help="smaller inputs")
    chosen = options.parse_args()
    for name in chosen.names or SECTIONS:
        made = section(name, QUICK.get(name, []) if chosen.quick else [])
        if chosen.update:
            write(name, made)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
