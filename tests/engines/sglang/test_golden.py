"""A trimmed set of SGLang 0.5.23's own answers, held without anything beside the project."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engines.sglang.oracle import wrong
from tests.engines.sglang.shapes import unpack

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


def _name(row: dict[str, Any]) -> str:
    return f"{row['model']} {row['gpu']} tp{row['tp']} {row['kv_cache_dtype_arg']}"


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=_name)
def test_every_choice_and_pool_equals_the_engines(row: dict[str, Any]) -> None:
    shape, checkpoint = unpack(GOLDEN["shapes"][row["model"]])
    assert wrong(row, shape, checkpoint) == {}


def test_the_set_names_its_engine_and_covers_every_pool() -> None:
    rows = GOLDEN["rows"]
    assert (GOLDEN["engine"], GOLDEN["version"]) == ("sglang", "0.5.23")
    assert len(rows) >= 60
    assert any(row["answer"]["pool"]["window"] for row in rows)
    assert any(row["answer"]["pool"]["slots"] for row in rows)
    assert any(row["answer"]["pool"]["state4"] for row in rows)
    assert any("dsa" in row["answer"] for row in rows)
    assert {row["answer"]["kv_dtype"] for row in rows} >= {"bf16", "fp8_e4m3"}
