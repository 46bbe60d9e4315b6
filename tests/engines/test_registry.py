"""One altered config for nearly every architecture of both registries, sized by the engines' own code: the same from the config on.

The rows are those that were equal when it was written; the others, and why, stand in docs/reference/registry-sweep.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.types.source import ModelFiles
from tools.oracle import ours
from tools.oracle.comparison import field

FOUND: dict[str, Any] = json.loads(Path(__file__).with_name("registry.json").read_text(encoding="utf-8"))
LENGTHS = (32768, 131072)
FLOORS = {"vllm": 113, "sglang": 113}


@pytest.mark.parametrize("engine", FLOORS)
def test_no_row_is_lost(engine: str) -> None:
    rows = FOUND["rows"][engine]
    assert len({(row["model"], row["tp"]) for row in rows}) == len(rows) >= FLOORS[engine]


@pytest.mark.parametrize(("engine", "row"), [pytest.param(e, row, id=f"{e} {row['model']} tp{row['tp']}") for e in FLOORS for row in FOUND["rows"][e]])
def test_the_engine_allocates_the_same(engine: str, row: dict[str, Any]) -> None:
    files = ModelFiles(id=row["model"], origin="registry.json", config=FOUND["configs"][row["model"]])
    job = {**row, "mtp": 0, "flags": {}, "lengths": LENGTHS}
    found = ours.sized(engine, FOUND["versions"][engine], job, load_gpu(row["gpu"]), files)
    assert {name: field(found, name) for name in row["answer"]} == row["answer"]
