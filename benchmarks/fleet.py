"""`fleet` over a folder of manifests, and a second run with nothing changed, against parsing the same YAML with libyaml: `python -m benchmarks.fleet [COUNT]`."""

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import code, row, serveright
from benchmarks.measure import table as printed
from tests.fleet.synthetic import folder

PARSE = "import sys, yaml, pathlib\nfor path in sorted(pathlib.Path(sys.argv[1]).rglob('*.y*ml')): list(yaml.load_all(path.read_text(), yaml.CSafeLoader))"


def main(count: int = 10_000) -> int:
    with tempfile.TemporaryDirectory() as place:
        root = folder(Path(place) / "fleet", count)
        words = ("fleet", str(root), "--rows", str(Path(place) / "rows.jsonl"))

        def rows() -> None:
            base = code(PARSE, str(root), runs=1)
            row(f"`fleet` over {count:,} manifests", serveright(*words, runs=1), "libyaml alone", base)
            row("again, nothing changed", serveright(*words, runs=1), "libyaml alone", base)

        return printed(rows)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:2])))
