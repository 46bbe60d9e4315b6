"""RADIO behind Nemotron's vision models: sizes by the backbone's name, the rest by the config."""

from typing import Any

import pytest

from serveright.catalog.models import load
from serveright.families.read import read_model
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

TEXT = load("nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16").config
TEACHERS = [{"name": name} for name in ("clip", "siglip", "dino_v2", "sam", "dino_v2")]
ARGS: dict[str, Any] = {"model": "vit_huge_patch16_224", "cpe_max_size": 2048, "register_multiple": 16, "cls_token_per_teacher": True, "teachers": TEACHERS}


def read(args: dict[str, Any], **beside: Any) -> ModelShape:
    config = {"architectures": ["NemotronH_Nano_VL_V2"], "model_type": "NemotronH_Nano_VL_V2", "llm_config": TEXT, "patch_size": 16}
    config |= {"projector_hidden_size": 20480, "downsample_ratio": 0.5, "vision_config": {"args": args, **beside}}
    return read_model(ModelFiles(id="x", origin="x", config=config))


def seen(shape: ModelShape) -> int:
    return sum(w.elements for w in shape.weights if w.part == "vision")


BLOCKS = 32 * (12 * 1280 * 1280 + 5 * 1280 + 3 * 1280 + 5120 + 1280)
PROJECTOR = 5120 + 20480 * 5120 * 2


def test_every_tensor_of_the_encoder_and_its_projector() -> None:
    """vLLM 0.33.0 models/radio.py: patches without a bias, a table of 128 x 128 places, four class tokens filled up to sixteen."""
    shape = read(ARGS)
    assert seen(shape) == BLOCKS + 3 * 16 * 16 * 1280 + 128 * 128 * 1280 + 16 * 1280 + PROJECTOR
    assert (shape.towers[0].layers, shape.towers[0].hidden, shape.towers[0].image and shape.towers[0].image.merge) == (32, 1280, 2)
    assert not [u for u in shape.unknown if u.path.startswith("vision")]


@pytest.mark.parametrize(
    ("change", "beside", "more"),
    [
        ({"register_multiple": None}, {}, (4 - 16) * 1280),
        ({"cls_token_per_teacher": False, "register_multiple": None}, {}, (1 - 16) * 1280),
        ({"cpe_max_size": 1024}, {}, (64 * 64 - 128 * 128) * 1280),
        ({}, {"video_temporal_patch_size": 2}, 3 * 2 * 16 * 16 * 1280),
    ],
)
def test_what_the_config_says_is_read(change: dict[str, Any], beside: dict[str, Any], more: int) -> None:
    assert seen(read(ARGS | change, **beside)) - seen(read(ARGS)) == more


def test_a_backbone_nobody_knows_is_named() -> None:
    shape = read(ARGS | {"model": "vit_of_tomorrow"})
    assert seen(shape) == 0
    assert [u.path for u in shape.unknown if u.path == "vision_config"] == ["vision_config"]
