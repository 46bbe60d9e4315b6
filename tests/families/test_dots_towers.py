"""The encoders of Dots3-Note: with the prediction layer the config is silent about, the published total to the element."""

from copy import deepcopy
from typing import Any

import pytest

from serveright.catalog.models import load
from serveright.families.read import read_model
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

FILES = load("dots-studio/dots3-note-prev")


def read(**changed: Any) -> ModelShape:
    config = deepcopy(FILES.config)
    config["vision_config"] |= changed
    return read_model(ModelFiles(id="x", origin="x", config=config))


def parameters(shape: ModelShape, *parts: str) -> int:
    return sum(w.elements for w in shape.weights if not parts or w.part in parts)


def test_the_published_total_is_met_to_the_element() -> None:
    """vLLM 0.33.0 models/dots3_note/nvidia/mtp.py: a window layer with a plain MLP, its own input table, a projection of two states and three norms."""
    shape = read()
    like = {"attention", "norm"}
    layer = sum(w.elements for w in shape.weights if w.layer == 2 and w.part in like)
    prediction = layer + 3 * 5120 * 13824 + 2 * 5120 * 5120 + 3 * 5120 + shape.vocab * shape.hidden
    assert parameters(shape) + prediction == FILES.facts["parameters"]
    assert shape.unknown == ()
    assert shape.modalities == ("text", "image", "audio")


def test_the_last_layers_hold_more_and_more_experts() -> None:
    """15 layers of 4 to 60 experts, two of 64: each 3 x 1536 x 2112 values, a router row and its bias."""
    expert = 3 * 1536 * 2112 + 1536 + 1
    plain = 3 * 1536 * 4224
    none = read(mlp_layer_types=["dense"] * 42)
    assert parameters(read(), "vision") - parameters(none, "vision") == (sum(range(4, 64, 4)) + 2 * 64) * expert - 17 * plain


@pytest.mark.parametrize(("field", "more"), [("mlp_bias", 42 * (2 * 4224 + 1536)), ("attention_bias", 42 * 4 * 1536)])
def test_biases_are_read(field: str, more: int) -> None:
    words = ["dense"] * 42
    assert parameters(read(mlp_layer_types=words, **{field: True}), "vision") - parameters(read(mlp_layer_types=words), "vision") == more


def test_every_rank_holds_the_encoders_whole() -> None:
    assert {w.shard for w in read().weights if w.part in ("vision", "audio")} == {"replicated"}
