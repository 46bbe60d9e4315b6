"""`audit` of a folder of start scripts against shellcheck, which lints the same files: `python -m benchmarks.audits [COUNT]`, 10,000 unless said otherwise."""

import random
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import command, row, serveright
from benchmarks.measure import table as printed
from tests.fleet.synthetic import EXTRA, MODELS


def folder(at: Path, count: int) -> Path:
    """Scripts as people keep them: a few variables, one serve command, some flags."""
    dice = random.Random(count)
    for number in range(count):
        model, gpus = dice.choice(MODELS)
        extra = " ".join(word for words in dice.sample(EXTRA, 2) for word in words)
        text = f'#!/bin/bash\nset -e\nMODEL="{model}"\nexec vllm serve "$MODEL" --tensor-parallel-size {gpus} --port {8000 + number % 1000} {extra}\n'
        (at / f"serve{number:05}.sh").write_text(text)
    return at


def main(count: int = 10_000) -> int:
    with tempfile.TemporaryDirectory() as place:
        at = folder(Path(place), count)
        linter = Path(sys.executable).parent / "shellcheck"

        def rows() -> None:
            own = serveright("audit", str(at), "--gpu", "8xh200", "--json", runs=1)
            row(f"`audit` of {count:,} scripts", own, "shellcheck of the same", command(["sh", "-c", f"{linter} {at}/*.sh"], runs=1))

        return printed(rows)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
