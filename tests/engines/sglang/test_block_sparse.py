"""MiniCPM-SALA: full layers that read chosen blocks take kernels of their own (SGLang 0.5.23 arg_groups/model_overrides/minicpm.py)."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour
from serveright.engines.sglang.decide import resolve
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Settings
from serveright.types.source import ModelFiles

FRESH: dict[str, Any] = json.loads(Path(__file__).parents[1].joinpath("fresh.json").read_text(encoding="utf-8"))
CONFIG: dict[str, Any] = next(row["config"] for row in FRESH["rows"]["sglang"] if row["model"] == "MiniCPM-SALA~")
DENSE = {key: value for key, value in CONFIG.items() if key != "sparse_config"}


@pytest.mark.parametrize(
    ("config", "gpu", "backend", "page"),
    [
        (CONFIG, "h200-sxm", "minicpm_flashattn", 1),
        (CONFIG, "b200-sxm", "minicpm_flashinfer", 1),
        (DENSE, "h200-sxm", "fa3", 1),
        (DENSE, "b200-sxm", "trtllm_mha", 64),
    ],
)
def test_kernels_and_pages(config: dict[str, Any], gpu: str, backend: str, page: int) -> None:
    files = ModelFiles(id="x", origin="x", config=config)
    found = resolve(read_model(files), read_checkpoint(files), load_gpu(gpu), load_sglang_behaviour("0.5.23"), Settings())
    assert (found.attention_decode, found.block_tokens) == (backend, page)
