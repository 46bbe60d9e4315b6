"""Parameter totals of the catalogue against published ones."""

import sys
from pathlib import Path

from serveright.api.loading import load_model
from serveright.catalog.models import list_models

TOLERANCE = 0.001


def main() -> int:
    """Print the section; the shared material is not needed, the catalogue holds the published figures."""
    Path(sys.argv[1])
    rows: list[tuple[float, str, int, int]] = []
    for listed in list_models():
        model = load_model(listed.id)
        published = model.files.facts.get("parameters")
        if isinstance(published, int) and published:
            total = model.need.total_elements
            rows.append((total / published - 1, listed.id, total, published))
    misses = sorted((row for row in rows if abs(row[0]) > TOLERANCE), key=lambda row: -abs(row[0]))
    print(f"## Parameter totals: {len(rows) - len(misses)} of {len(rows)} within 0.1 % of the published total\n")
    print(
        "A miss is a checkpoint that stores more or less than its config says (prediction layers, tied heads, encoders in code), or a trimmed copy of the config.\n"
    )
    print("| model | from the config | published | difference |\n|---|---:|---:|---:|")
    for difference, name, total, published in misses:
        print(f"| {name} | {total:,} | {published:,} | {difference:+.2%} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
