"""Published models read exactly: layers by kind, family, parameters within 0.1 % of the published checkpoint; under another class name the cache stays."""

from collections import Counter

import pytest

from serveright.families.verdict import family
from serveright.types.model import Attention, Latent
from tests.families.published import NAMES, load, read, total

NO_FIELDS = {"google--gemma-3-27b-it"}
"""The class, not the config, says which layers slide."""


def kinds(shape):
    words = []
    for layer in shape.layers:
        for mixer in layer.mixers:
            width = f"{mixer.kv_heads}x{mixer.head_dim}" if isinstance(mixer, Attention) else f"latentx{mixer.kv_lora_rank}"
            words.append(f"{mixer.kind} {mixer.query_heads}x{width}")
    return dict(Counter(words))


@pytest.mark.parametrize("name", NAMES)
def test_published_model(name):
    case = load(name)
    shape = read(case["config"])
    assert abs(total(shape) / case["published_parameters"] - 1) < 1e-3
    assert len(shape.layers) == case["layers"]
    assert family(shape).name == case["family"]
    assert kinds(shape) == case["attention"]
    assert shape.mtp_layers == case["mtp_layers"]
    assert shape.evidence


@pytest.mark.parametrize("name", NAMES)
def test_weight_paths_are_unique(name):
    paths = [(weight.path, weight.shard) for weight in read(load(name)["config"]).weights]
    assert [path for path, times in Counter(paths).items() if times > 1 and "experts.*" not in path[0]] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NO_FIELDS])
def test_same_cache_under_another_class_name(name):
    config = load(name)["config"]
    known, renamed = read(config), read({**config, "architectures": ["NobodyKnowsForCausalLM"]})
    assert renamed.dialect == "unclaimed"
    assert any(unknown.path == "architectures" for unknown in renamed.unknown)

    def rows(shape):
        return [(_rows(mixer), layer.cache_from) for layer in shape.layers for mixer in layer.mixers]

    assert rows(known) == rows(renamed)


def _rows(mixer):
    if isinstance(mixer, Latent):
        return mixer.kind, mixer.kv_lora_rank, mixer.rope_dim, mixer.window_tokens, mixer.indexer
    return mixer.kind, mixer.query_heads, mixer.kv_heads, mixer.head_dim, mixer.v_head_dim, mixer.window_tokens, mixer.chunk_tokens
