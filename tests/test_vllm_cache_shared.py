"""Every layout and refusal that vLLM's own sizing code gave on real configs, against ours: all must agree."""

import json
from pathlib import Path

import pytest

from tests.engines.vllm.oracle import answer, expected, run

pytestmark = pytest.mark.shared
NOT_THE_PUBLISHED_CONFIG = {"sgl-project--DeepSeek-V4-Flash-FP8"}


def test_every_executed_layout_agrees(shared: Path) -> None:
    rows = json.loads((shared / "cases" / "vllm_cache.json").read_text(encoding="utf-8"))["cases"]
    missed: list[str] = []
    for row in rows:
        ours, theirs = answer(run(row, shared / "configs")), expected(row)
        wrong = {k: (ours[k], theirs[k]) for k in theirs if ours[k] != theirs[k]}
        if wrong:
            missed.append(f"{row['model']} tp{row['tp']} {row['kv_dtype']} cc{row['cc']} {row.get('tag')}: {wrong}")
    print(f"vLLM 0.33.0 cache layouts equal: {len(rows) - len(missed)} of {len(rows)}")
    assert len(rows) >= 275
    assert missed == []


def test_every_refused_build_is_refused_with_the_engines_words(shared: Path) -> None:
    rows = json.loads((shared / "facts" / "engines" / "vllm" / "kv_oracle_errors.json").read_text(encoding="utf-8"))
    rows = [r for r in rows if r["model"] not in NOT_THE_PUBLISHED_CONFIG]
    missed: list[str] = []
    for row in rows:
        texts = [r.text for r in run({**row, "model": row["model"].replace("--", "/")}, shared / "configs").refusals]
        if not any(text[:300] in row["error"] or row["error"].partition(": ")[2][:300] in text for text in texts):
            missed.append(f"{row['model']} {row['kv_dtype']} cc{row['cc']}: {texts} for {row['error'][:200]}")
    print(f"vLLM refusals with the engine's words: {len(rows) - len(missed)} of {len(rows)}")
    assert len(rows) == 15
    assert missed == []
