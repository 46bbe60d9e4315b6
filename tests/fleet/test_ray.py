"""The documented Ray Data example runs on a local cluster and gives the rows our own run gives."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from serveright.api import fleets
from tests.fleet.synthetic import folder

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fleet_ray.py"


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_the_example(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    root = folder(tmp_path / "fleet", 20)
    out = tmp_path / "rows"
    subprocess.run([sys.executable, str(EXAMPLE), str(root), str(out)], check=True, timeout=600)
    fleets.run([str(root)], tmp_path / "rows.jsonl", jobs=1)
    ours = {Path(row.piece).name: (row.engine, row.model, row.worst, len(row.findings)) for row in fleets.read_rows(tmp_path / "rows.jsonl")}
    theirs = [row for file in out.glob("*.parquet") for row in parquet.read_table(file).to_pylist()]
    assert {Path(row["piece"]).name: (row["engine"], row["model"], row["worst"], len(row["findings"])) for row in theirs} == ours


def test_the_example_is_ten_lines() -> None:
    code = [line for line in EXAMPLE.read_text().splitlines() if line.strip() and not line.startswith('"""')]
    assert len(code) <= 10
    compile(EXAMPLE.read_text(), str(EXAMPLE), "exec")


def test_the_page_shows_the_example() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "audit-a-fleet.md").read_text()
    assert EXAMPLE.read_text().strip() in page
