"""`python -m tools.mutate [--count N] [--seed N] [--jobs N] [--at FOLDER]`: a random sample of small faults in `analysis` and `engines`; does some test fail?

Three steps, each kept under FOLDER so that a run can be taken up again: a map of which test reaches which line, the sample (every file has its share),
and the mutants tried one by one. The last thing printed is the table that docs/reference/mutation.md shows.
"""

import argparse
import functools
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.mutate.changes import Mutant, mutants

ROOT = Path(__file__).parents[2]
LAYERS = ("analysis", "engines")
# tests of the fronts and of the tools, which reach the pure layers only through what other tests hold too, and one that fits the whole calibration again
LEFT_OUT = (
    "web",
    "engine",
    "mcp",
    "charts",
    "test_docs.py",
    "test_harvest.py",
    "test_many_files.py",
    "test_counted_work.py",
    "test_oracle.py",
    "test_measured_shared.py",
)
FEWEST = 3


def test_files(part: int, parts: int) -> list[str]:
    """Every `parts`-th test file."""
    tests = ROOT / "tests"
    files = sorted(str(path.relative_to(ROOT)) for path in tests.rglob("test_*.py") if path.relative_to(tests).parts[0] not in LEFT_OUT)
    return files[part::parts]


def pytest(way: str, job: dict[str, Any], files: list[str]) -> subprocess.Popen[bytes]:
    """A pytest process with the plugin doing `way`."""
    words = [
        "-p",
        "tools.mutate.plugin",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--capture=no",
        "--tb=no",
        "--assert=plain",
        "--hypothesis-profile=mutate",
    ]
    with Path(f"{job['out']}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *words, *files],
            cwd=ROOT,
            stdout=log,
            stderr=log,
            env={**os.environ, "MUTATE": way, "MUTATE_JOB": json.dumps({**job, "root": str(ROOT)}), "PYTHONPATH": str(ROOT / "src")},
        )


def mapped(at: Path, jobs: int) -> dict[str, Any]:
    """The map of all tests, made where it is not there yet."""
    parts = [at / f"map{part}.json" for part in range(jobs)]
    running = [pytest("map", {"out": str(path)}, test_files(part, jobs)) for part, path in enumerate(parts) if not path.exists()]
    for process in running:
        process.wait()
    whole: dict[str, Any] = {"tests": [], "seconds": [], "failed": set(), "shared": set(), "fixtures": {}, "lines": {}}
    for path in parts:
        part = json.loads(path.read_text())
        first = len(whole["tests"])
        whole["tests"] += part["tests"]
        whole["seconds"] += part["seconds"]
        whole["failed"] |= set(part["failed"])
        whole["shared"] |= set(part["shared"])
        whole["fixtures"] |= part["fixtures"]
        for file, lines in part["lines"].items():
            for line, tests in lines.items():
                whole["lines"].setdefault(file, {}).setdefault(int(line), []).extend(first + test for test in tests)
    return whole


def sampled(count: int, seed: int) -> list[Mutant]:
    """`count` mutants, at least a few of every file, the rest in proportion to what a file has."""
    rng = random.Random(seed)
    by_file = [mutants(path, ROOT) for layer in LAYERS for path in sorted((ROOT / "src/serveright" / layer).rglob("*.py"))]
    total = sum(map(len, by_file))
    chosen = [mutant for found in by_file for mutant in rng.sample(found, min(len(found), max(FEWEST, round(count * len(found) / total))))]
    rng.shuffle(chosen)
    return chosen


def felt(mutant: Mutant) -> Iterator[tuple[str, int]]:
    """Lines where the fault can be felt: its statement's, and those that read a constant it changes."""
    if not mutant.names:
        yield from ((mutant.path, line) for line in range(mutant.line, mutant.end + 1))
        return
    reads = re.compile(rf"\b(?:{'|'.join(mutant.names)})\b")
    for path, lines in sources().items():
        yield from ((path, number) for number, line in enumerate(lines, 1) if reads.search(line))


@functools.cache
def sources() -> dict[str, list[str]]:
    """Lines of every file of the layers."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").splitlines()
        for layer in LAYERS
        for path in (ROOT / "src/serveright" / layer).rglob("*.py")
    }


def tests_of(mutant: Mutant, known: dict[str, Any]) -> list[tuple[str, float]]:
    """Tests that reach the statement, those that share a fixture with them last; without the shared material first, the shortest first."""
    reached = {known["tests"][test] for path, line in felt(mutant) for test in known["lines"].get(path, {}).get(line, ())}
    wide = {(name.partition("::")[0], fixture) for name in reached for fixture in known["fixtures"].get(name, ())}
    beside = {name for name, fixtures in known["fixtures"].items() if any((name.partition("::")[0], fixture) in wide for fixture in fixtures)}
    seconds = dict(zip(known["tests"], known["seconds"], strict=True))
    found = (reached | beside) - known["failed"]
    return [(name, seconds[name]) for name in sorted(found, key=lambda name: (name in known["shared"], name not in reached, seconds[name], name))]


def tried(at: Path, chosen: list[Mutant], known: dict[str, Any], jobs: int, most_seconds: float) -> list[dict[str, Any]]:
    """What became of every mutant; those already in the result are not tried again."""
    out = at / "result.jsonl"
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    seen = {(one["path"], one["number"]) for one in done}
    lines: list[str] = []
    with out.open("a", encoding="utf-8") as results:
        for mutant in chosen:
            if (mutant.path, mutant.number) in seen:
                continue
            if tests := tests_of(mutant, known):
                lines.append(json.dumps({**mutant._asdict(), "tests": tests}))
            else:
                results.write(json.dumps({**mutant._asdict(), "status": "survived", "ran": 0, "of": 0}) + "\n")
    todo = at / "todo.jsonl"
    todo.write_text("\n".join(lines))
    pytest("run", {"out": str(out), "todo": str(todo), "jobs": jobs, "most_seconds": most_seconds}, test_files(0, 1)).wait()
    return [json.loads(line) for line in out.read_text().splitlines()]


def group(path: str) -> str:
    """`analysis`, `engines/vllm`, ..."""
    parts = Path(path).parts[2:-1]
    return "/".join(parts)


def table(results: list[dict[str, Any]], shared: set[str]) -> str:
    """Killed of tried by group of files, with and without what only the shared material catches."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in results:
        what = one["status"] if one["status"] != "killed" or one["by"] not in shared else "by shared"
        for name in (group(one["path"]), "all", "all but words" if one["kind"] != "word" else "words"):
            rows[name][what] += 1
    lines = [
        "| files | tried | killed | of these by the shared cases alone | by the time limit | survived | killed, own tests alone |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, counts in sorted(rows.items()):
        tried_ = counts.total() - counts["skipped"]
        killed = counts["killed"] + counts["by shared"] + counts["timeout"]
        own = killed - counts["by shared"]
        lines.append(
            f"| {name} | {tried_} | {killed} ({killed / tried_:.1%}) | {counts['by shared']} | {counts['timeout']} | {counts['survived']} | {own / tried_:.1%} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Map, sample, try, tell."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=700)
    options.add_argument("--seed", type=int, default=20261129)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--most-seconds", type=float, default=20.0, help="CPU seconds of tests one mutant may take before it counts as survived")
    options.add_argument("--at", type=Path, default=ROOT / ".build" / "mutate")
    given = options.parse_args()
    given.at.mkdir(parents=True, exist_ok=True)
    known = mapped(given.at, given.jobs)
    results = tried(given.at, sampled(given.count, given.seed), known, given.jobs, given.most_seconds)
    for one in sorted(results, key=lambda one: (one["path"], one["line"])):
        if one["status"] == "survived":
            print(f"{one['path']}:{one['line']} {one['kind']} ({one['ran']} of {one['of']} tests)\n    {one['before'][:200]}\n    {one['after'][:200]}")
    print(table(results, known["shared"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
