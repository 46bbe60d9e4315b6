"""Latent models: golden configs, IndexShare in every spelling, unknown words reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.analysis.cache import logical_cache
from serveright.errors import InputError
from serveright.families.read import read_model
from serveright.types.model import Latent, ModelShape
from serveright.types.source import ModelFiles

GOLDEN = sorted((Path(__file__).parent / "golden_latent").glob("*.json"))
DOTS: dict[str, Any] = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "hidden_size": 64,
    "vocab_size": 100,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "intermediate_size": 32,
    "index_topk": 16,
    "index_n_heads": 2,
    "index_head_dim": 8,
}


def read(config: dict[str, Any], name: str = "some/model") -> ModelShape:
    return read_model(ModelFiles(id=name, origin="test", config=config))


def kinds(shape: ModelShape) -> dict[str, int]:
    found: dict[str, int] = {}
    for layer in shape.layers:
        word = "+".join(mixer.kind for mixer in layer.mixers if hasattr(mixer, "kind")) or "none"
        found[word] = found.get(word, 0) + 1
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    case = json.loads(path.read_text())
    shape = read(case["config"])
    assert kinds(shape) == case["layers"]
    assert len(shape.mtp) == case["mtp"]
    cache = logical_cache(shape, 32768, "bfloat16")
    assert cache.bytes - cache.state_bytes == case["rows_bytes_32768"]
    assert cache.state_bytes == case["state_bytes"]
    published = case["published_parameters"]
    if published:
        assert abs(sum(weight.elements for weight in shape.weights) / published - 1) < 0.001


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_under_another_architecture_keeps_its_cache(path: Path) -> None:
    case = json.loads(path.read_text())
    shape = read({**case["config"], "architectures": ["NobodyForCausalLM"], "model_type": "nobody"})
    cache = logical_cache(shape, 32768, "bfloat16")
    assert cache.bytes - cache.state_bytes == case["rows_bytes_32768"]
    assert any(entry.path == "architectures" for entry in shape.unknown)


@pytest.mark.parametrize(
    "spelling",
    [
        {"indexer_types": ["full", "full", "full", "shared", "shared", "shared", "full", "shared"]},
        {"index_topk_freq": 4, "index_skip_topk_offset": 3},
        {"index_topk_pattern": "FFFSSSFS"},
        {"index_topk_pattern": ["F", "F", "F", "S", "S", "S", "F", "S"]},
        {"index_source_layer_ids": [0, 1, 2, 6]},
        {"indexer_types": ["full", "full", "full", "shared", "shared", "shared", "full", "shared"], "index_topk_freq": 2},
    ],
)
def test_index_share_spellings_agree(spelling: dict[str, Any]) -> None:
    shape = read({**DOTS, **spelling})
    owners = [mixer.indexer.owns_keys for layer in shape.layers for mixer in layer.mixers if isinstance(mixer, Latent) and mixer.indexer]
    assert owners == [True, True, True, False, False, False, True, False]
    assert sum(weight.path.endswith("indexer.wk") for weight in shape.weights) == 4


def test_index_offset_default_is_evidence() -> None:
    shape = read({**DOTS, "index_topk_freq": 4})
    assert [entry.kind for entry in shape.evidence if entry.path == "index_skip_topk_offset"] == ["class-default"]


def test_strange_indexer_word_is_reported() -> None:
    shape = read({**DOTS, "indexer_types": ["full"] * 7 + ["telepathic"]})
    assert any(entry.path == "indexer_types" for entry in shape.unknown)


def test_glm_5_2_computes_its_indexer_on_21_of_78_layers() -> None:
    case = json.loads(next(path for path in GOLDEN if path.stem == "glm-5.2").read_text())
    shape = read(case["config"])
    assert len(shape.layers) == 78
    assert sum(mixer.indexer is not None and mixer.indexer.owns_keys for layer in shape.layers for mixer in layer.mixers if isinstance(mixer, Latent)) == 21


def test_missing_rank_is_named() -> None:
    config = {key: value for key, value in DOTS.items() if key != "kv_lora_rank"}
    with pytest.raises(InputError) as caught:
        read(config)
    assert caught.value.message.values["key"] == "kv_lora_rank"
