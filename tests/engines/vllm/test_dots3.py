"""Dots3-Note on vLLM: where its rows are known, and what its own kernel refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm.plan import Plan, plan
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.source import ModelFiles

FRESH: dict[str, Any] = json.loads(Path(__file__).parents[1].joinpath("fresh.json").read_text(encoding="utf-8"))
CONFIG: dict[str, Any] = next(row["config"] for row in FRESH["rows"]["vllm"] if row["model"] == "dots3-note")


def planned(gpu: str = "h200-sxm", version: str = "0.33.0", **asked: Any) -> Plan:
    files = ModelFiles(id="x", origin="x", config=CONFIG)
    settings = Settings(parallel=Parallel(tp=8), context_tokens=131072, **asked)
    return plan(read_model(files), read_checkpoint(files), load_gpu(gpu), load_vllm_behaviour(version), settings)


def test_full_rows_are_as_wide_as_the_windows() -> None:
    rows = {x.spec.role: x.spec.content for x in planned().layers}
    assert rows == {"index_key": 132, "latent": 2 * (1024 + 64), "window": 2 * (1024 + 64)}


@pytest.mark.parametrize(
    ("gpu", "version", "asked", "codes"),
    [
        ("h200-sxm", "0.33.0", {}, []),
        ("h200-sxm", "0.29.0", {}, []),
        ("h200-sxm", "0.33.0", {"kv_dtype": "fp8"}, ["dots3_cache_dtype"]),
        ("b200-sxm", "0.33.0", {}, ["layout_unknown"]),
        ("h200-sxm", "0.28.0", {}, ["layout_unknown"]),
    ],
)
def test_known_where_it_was_looked_at(gpu: str, version: str, asked: dict[str, Any], codes: list[str]) -> None:
    assert [r.code for r in planned(gpu, version, **asked).refusals] == codes
