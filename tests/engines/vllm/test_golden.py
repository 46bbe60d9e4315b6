"""A trimmed set of vLLM 0.33.0's own answers, held without anything beside the project."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.types.model import Checkpoint
from tests.engines.vllm.oracle import answer, planned
from tests.engines.vllm.shapes import unpack

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))


def _name(row: dict[str, Any]) -> str:
    return " ".join(str(v) for v in row["ask"].values() if v)


@pytest.mark.parametrize("row", GOLDEN["rows"], ids=_name)
def test_layout_equals_the_engines(row: dict[str, Any]) -> None:
    shape = unpack(GOLDEN["shapes"][row["ask"]["model"]])
    asked = Checkpoint(**{"method": "none", "kv_dtype": None, **row["checkpoint"]}, format="", dtype=shape.dtype)
    made = planned({**row["ask"], "vllm": GOLDEN["version"]}, shape, asked)
    assert made.refusals == ()
    assert answer(made) == row["answer"]


def test_every_kind_of_cache_is_covered() -> None:
    kinds = {group[0] for row in GOLDEN["rows"] for group in row["answer"]["groups"]}
    assert kinds == {"full_attention", "mla_attention", "sliding_window", "sliding_window_mla", "mamba", "chunked_local_attention"}
    assert len(GOLDEN["rows"]) >= 60
