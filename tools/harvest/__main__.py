"""`python tools/harvest vllm==0.33.0 sglang==0.5.23`: released wheels become tables under `src/serveright/facts/engines`; nothing is installed or imported."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.harvest import compare, sglang, store, vllm  # noqa: E402
from tools.harvest.wheel import open_wheel  # noqa: E402

READERS = {"vllm": vllm.table, "sglang": sglang.table}


def main() -> int:
    """Command line; 1 where a comparison finds differences."""
    options = argparse.ArgumentParser(prog="tools/harvest", description=__doc__)
    options.add_argument("wheels", nargs="*", help="ENGINE==VERSION, or the path of a wheel")
    options.add_argument("--out", type=Path, default=ROOT / "src/serveright/facts/engines", help="folder of the tables")
    options.add_argument("--compare", type=Path, metavar="DIR", help="report how the shipped tables differ from another harvest")
    given = options.parse_args()
    for spec in given.wheels:
        wheel = open_wheel(spec)
        table = READERS[str(wheel.metadata["Name"]).lower()](wheel)
        path = store.write(given.out, table)
        print(f"{path.name}: {len(table.flags)} flags, {len(table.architectures)} architectures, {len(table.tool_parsers)}+{len(table.reasoning_parsers)} parsers, "
              f"{len(table.quantizations)} quantisations, {len(table.backends)} backends, {len(table.environment)} variables, built {table.released}")  # fmt: skip
    for engine in READERS:
        store.index(given.out, engine)
    return compare.report(given.out, given.compare) if given.compare else 0


if __name__ == "__main__":
    raise SystemExit(main())
