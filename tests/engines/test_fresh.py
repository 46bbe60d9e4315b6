"""Fresh runs of both engines' own sizing code on whole and altered configs, read from the config on: family, format, choices, layout."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.types.source import ModelFiles
from tools.oracle import ours
from tools.oracle.comparison import field

FRESH: dict[str, Any] = json.loads(Path(__file__).with_name("fresh.json").read_text(encoding="utf-8"))


def _name(row: dict[str, Any]) -> str:
    return f"{row['model']} {row['gpu']} tp{row['tp']} {row['kv']} mtp{row['mtp']}"


def _differs(engine: str, row: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    files = ModelFiles(id=row["model"], origin="fresh.json", config=row["config"], hf_quant_config=row.get("hf_quant_config", {}))
    found = ours.sized(engine, FRESH["versions"][engine], row, load_gpu(row["gpu"]), files)
    return {name: (value, field(found, name)) for name, value in row["answer"].items() if field(found, name) != value}


@pytest.mark.parametrize("row", FRESH["rows"]["vllm"], ids=_name)
def test_vllm_allocates_the_same(row: dict[str, Any]) -> None:
    assert _differs("vllm", row) == {}


@pytest.mark.parametrize("row", FRESH["rows"]["sglang"], ids=_name)
def test_sglang_allocates_the_same(row: dict[str, Any]) -> None:
    assert _differs("sglang", row) == {}
