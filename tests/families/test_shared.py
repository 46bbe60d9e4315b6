"""Every config beside the project reads; floors that may only rise: exact totals, same cache under another class name, time."""

import json
import statistics
import time

import pytest

from serveright.families.dialects import claims
from serveright.families.read import read_model
from serveright.types.model import Latent
from serveright.types.source import ModelFiles
from tests.families.published import read, total

MISSES = {
    "Qwen/Qwen3-0.6B": "the checkpoint stores the tied head once more",
    "Qwen/Qwen3-1.7B": "the checkpoint stores the tied head once more",
    "Qwen/Qwen3-Embedding-8B": "saved without the head its config names",
    "Qwen/Qwen3-Next-80B-A3B-Instruct": "the checkpoint holds a prediction layer that the config does not name",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "this copy has no vision_config",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": "this copy has no vision_config",
    "MiniMaxAI/MiniMax-M3": "this copy has no vision_config",
    "stepfun-ai/Step-3.7-Flash": "this copy names one head count and no vision_config",
    "openbmb/MiniCPM-V-4.6": "nobody claims the class: parameters are approximate, and the report says so",
    "deepseek-ai/DeepSeek-V4-Pro-0813": "a sibling's config: one prediction layer named, three stored",
    "nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16": "this copy describes the language model only",
}


def _configs(shared):
    for path in sorted((shared / "configs").glob("*.json")):
        if not path.stem.endswith("hf_quant_config") and path.stem != "index":
            yield path.stem.replace("--", "/", 1), json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.shared
def test_totals(shared):
    rows = {row["hf_id"]: row for row in json.loads((shared / "facts" / "models.json").read_text(encoding="utf-8"))["models"]}
    claims()
    exact, missed, times = 0, {}, []
    for name, config in _configs(shared):
        start = time.process_time()
        shape = read_model(ModelFiles(id=name, origin="config.json", config=config))
        times.append(time.process_time() - start)
        row = rows.get(name)
        if row is None:
            continue
        assert len(shape.layers) == row["layers"], name
        if row["params_total_published"]:
            off = total(shape) / row["params_total_published"] - 1
            exact += abs(off) <= 1e-3
            if abs(off) > 1e-3:
                missed[name] = off
    print(f"{exact} totals within 0.1 %, median {statistics.median(times) * 1e3:.1f} ms, longest {max(times) * 1e3:.1f} ms, missed {missed}")
    assert exact >= 100
    assert set(missed) <= set(MISSES)
    assert statistics.median(times) < 0.02


def _rows(shape):
    return [
        (mixer.kind, mixer.kv_lora_rank, mixer.rope_dim, mixer.window_tokens, mixer.indexer, layer.cache_from)
        if isinstance(mixer, Latent)
        else (
            type(mixer).__name__,
            *(getattr(mixer, name, None) for name in ("kind", "kv_heads", "head_dim", "v_head_dim", "window_tokens", "state_shape")),
            layer.cache_from,
        )
        for layer in shape.layers
        for mixer in layer.mixers
    ]


@pytest.mark.shared
def test_same_cache_under_another_class_name(shared):
    same, other = 0, []
    for name, config in _configs(shared):
        renamed = read({**config, "architectures": ["NobodyKnowsForCausalLM"]})
        if _rows(read(config)) == _rows(renamed):
            same += 1
        else:
            other.append(name)
            assert len(renamed.unknown) > 1, name
    print(f"{same} the same, {other} differ")
    assert same >= 165
