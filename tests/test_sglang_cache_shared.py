"""Every choice, layout, pool and refusal that SGLang 0.5.23's own code gave on real configs, against ours: all must agree."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.engines.sglang.oracle import read, refused, wrong

pytestmark = pytest.mark.shared


def _rows(shared: Path, status: str) -> list[dict[str, Any]]:
    cases = json.loads((shared / "cases" / "sglang_cache.json").read_text(encoding="utf-8"))["cases"]
    return [row for row in cases if row["status"].startswith(status)]


def _name(row: dict[str, Any]) -> str:
    return f"{row['model']} {row['gpu']} tp{row['tp']} {row['kv_cache_dtype_arg']}"


def test_every_executed_row_agrees(shared: Path) -> None:
    rows = [row for row in _rows(shared, "executed") if row["status"] == "executed"]
    missed = [f"{_name(row)}: {found}" for row in rows if (found := wrong(row, *read(shared / "configs", row["model"])))]
    stated = sum(1 for row in rows if row.get("state"))
    print(f"SGLang 0.5.23 rows equal: {len(rows) - len(missed)} of {len(rows)}, {stated} of them with recurrent state")
    assert len(rows) >= 280
    assert missed == []


def test_every_refused_row_is_refused_with_the_engines_words(shared: Path) -> None:
    rows = _rows(shared, "executed-error")
    missed: list[str] = []
    for row in rows:
        texts = refused(row, *read(shared / "configs", row["model"]))
        if not any(text[:40] in row["error"] for text in texts):
            missed.append(f"{_name(row)}: {texts} for {row['error'][:200]}")
    print(f"SGLang 0.5.23 refusals with the engine's words: {len(rows) - len(missed)} of {len(rows)}")
    assert len(rows) >= 7
    assert missed == []


def test_no_row_is_left_out_in_silence(shared: Path) -> None:
    """Rows without an answer of the engine: six configs need remote code, two stopped at CUDA."""
    counts = Counter(row["status"].partition(":")[0].partition(" (")[0] for row in _rows(shared, ""))
    assert counts == {"executed": 280, "executed-error": 7, "harness-limit": 6, "resolved-only": 2}
