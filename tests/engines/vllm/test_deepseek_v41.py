"""DeepSeek-V4.1 in vLLM: what follows from device, drafts and version; the sizes themselves stand in fresh.json."""

import json
from pathlib import Path

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm.layout import request_blocks
from serveright.engines.vllm.plan import Plan, plan
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.source import ModelFiles

_ROWS = json.loads(Path(__file__).parents[1].joinpath("fresh.json").read_text(encoding="utf-8"))["rows"]["vllm"]
FILES = ModelFiles(id="V41", origin="fresh.json", config=next(r["config"] for r in _ROWS if r["config"]["architectures"] == ["DeepseekV41ForCausalLM"]))
SHAPE, CHECKPOINT = read_model(FILES), read_checkpoint(FILES)


def planned(card: str = "h200-sxm", version: str = "0.33.0", **asked: object) -> Plan:
    settings = Settings(context_tokens=32768, **asked)  # type: ignore[arg-type]
    return plan(SHAPE, CHECKPOINT, load_gpu(card), load_vllm_behaviour(version), settings)


def test_every_layer_keeps_a_window_and_only_sources_the_rest() -> None:
    roles = [x.spec.role for x in planned().layers]
    assert {role: roles.count(role) for role in set(roles)} == {"window": 40, "compressed": 4, "index_key": 4, "compressor_state": 3}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"speculative_method": "mtp", "speculative_tokens": 1}, "DeepSeek V4.1 has no classic-MTP draft"),
        ({"kv_dtype": "bf16"}, "DeepseekV4 packed KV layouts only support fp8 kv-cache, got bfloat16."),
        ({"kv_dtype": "nvfp4_ds_mla"}, "nvfp4_ds_mla needs the V4.1 KV records"),
        ({"attention_backend": "FLASHINFER_MLA_SPARSE"}, "FLASHINFER_MLA_SPARSE is not a DeepSeek V4.1 attention backend."),
    ],
)
def test_refused(asked: dict[str, object], text: str) -> None:
    assert [r.text.startswith(text) for r in planned(**asked).refusals] == [True]  # type: ignore[arg-type]


def test_blackwell_takes_the_fused_kernel_where_groups_divide() -> None:
    names = {tp: {r.name for r in planned("b200-sxm", parallel=Parallel(tp=tp)).readers} for tp in (8, 16)}
    assert "FLASHMLA_MEGA_ATTN_DSV41" in names[8]
    assert "FLASHMLA_SPARSE_DSV41" in names[16]


@pytest.mark.parametrize(("tokens", "rows"), [(0, 8), (6, 8), (7, 16), (14, 16), (15, 32)])
def test_the_ring_has_room_for_drafts(tokens: int, rows: int) -> None:
    made = planned(speculative_method="dspark", speculative_tokens=tokens)
    assert {x.spec.block for x in made.layers if x.spec.kind == "ring"} == {rows}


def test_older_versions_are_not_rebuilt() -> None:
    assert [r.code for r in planned(version="0.32.0").refusals] == ["layout_unknown"]


def test_a_draft_block_keeps_windows_of_its_own() -> None:
    """Executed with dspark and 5 tokens on one of eight H200: 54 caches, 543,598,272 bytes for 32,768 tokens."""
    made = planned(parallel=Parallel(tp=8), speculative_method="dspark", speculative_tokens=5)
    assert [len(made.layers), len(made.whole)] == [54, 10]
    assert request_blocks(made, 32768) * made.pool_block_bytes == 543598272
