"""The KV precision a checkpoint asks for, against what vLLM itself resolved `auto` to with the checkpoint's own quantisation in view."""

import json
from pathlib import Path

import pytest

from serveright.formats.read import read_checkpoint
from serveright.types.source import ModelFiles

FORCED_BY_MODEL = {"deepseek_v4", "glm_moe_dsa"}
"""Architectures whose code sets the cache precision whatever the checkpoint says."""


def read(configs: Path, model: str, *, beside: bool) -> ModelFiles:
    stem = configs / model.replace("/", "--")
    quant = Path(f"{stem}_hf_quant_config.json")
    found = json.loads(quant.read_text()) if beside and quant.exists() else {}
    return ModelFiles(id=model, origin="shared", config=json.loads(Path(f"{stem}.json").read_text()), hf_quant_config=found)


@pytest.mark.shared
def test_kv_precision_as_vllm_resolved_it(shared: Path) -> None:
    cases = json.loads((shared / "cases" / "vllm_cache.json").read_text())["cases"]
    rows = [row for row in cases if "quant_config_kept" in str(row.get("tag"))]
    checked = 0
    for row in rows:
        files = read(shared / "configs", row["model"], beside="hf_quant_config.json" in row["tag"])
        if files.config["model_type"] in FORCED_BY_MODEL or row["resolved_cache_dtype"] is None:
            continue
        wish = read_checkpoint(files).kv_dtype
        expected = "fp8" if row["resolved_cache_dtype"].startswith("fp8") else None
        assert wish == expected, (row["model"], row["tag"], row["resolved_cache_dtype"])
        checked += 1
    print(f"{checked} rows agree")
    assert checked >= 15
