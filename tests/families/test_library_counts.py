"""Classes of transformers 5.24.0, built on the meta device with the configs of `library_counts.json`, hold exactly as many parameters as we derive from the config alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from serveright.families.read import read_model
from serveright.types.source import ModelFiles

CASES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "library_counts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_of_the_library_s_class_is_counted(name: str) -> None:
    case = CASES[name]
    shape = read_model(ModelFiles(id=name, origin=name, config=case["config"]))
    assert sum(weight.elements for weight in shape.weights) == case["total"]
    assert not [unknown for unknown in shape.unknown if unknown.path == "architectures"]


def test_looped_stacks_keep_rows_for_every_pass() -> None:
    case = CASES["HrmTextForCausalLM"]["config"]
    shape = read_model(ModelFiles(id="hrm", origin="hrm", config=case))
    assert sum(len(layer.mixers) for layer in shape.layers) == case["num_hidden_layers"], "the class names the passes of all layers together"


def test_one_kv_head_whatever_the_old_falcon_config_says() -> None:
    config = {**CASES["FalconForCausalLM"]["config"], "num_kv_heads": 71}
    shape = read_model(ModelFiles(id="falcon", origin="falcon", config=config))
    assert {mixer.kv_heads for layer in shape.layers for mixer in layer.mixers} == {1}


@pytest.mark.parametrize("wrapper", ["LlavaNextForConditionalGeneration", "VoxtralForConditionalGeneration", "Qwen2AudioForConditionalGeneration"])
def test_a_wrapped_decoder_is_the_decoder(wrapper: str) -> None:
    config = CASES[wrapper]["config"]
    outer = read_model(ModelFiles(id=wrapper, origin=wrapper, config=config))
    text = {**config["text_config"], "architectures": [{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[config["text_config"]["model_type"]]]}
    inner = read_model(ModelFiles(id="text", origin="text", config=text))
    assert outer.layers == inner.layers
    assert sum(w.elements for w in outer.weights if w.part not in ("vision", "audio")) == sum(w.elements for w in inner.weights)
    assert len(outer.modalities) == 2


def test_an_unknown_wrapper_of_a_known_decoder_has_the_decoder_s_layers() -> None:
    config = CASES["LlavaNextForConditionalGeneration"]["config"]
    known = read_model(ModelFiles(id="known", origin="known", config=config))
    strange = read_model(ModelFiles(id="strange", origin="strange", config={**config, "architectures": ["NobodyKnowsForConditionalGeneration"]}))
    assert strange.layers == known.layers
    counts = {part: sum(w.elements for w in strange.weights if (w.part == "vision") == part) for part in (False, True)}
    assert counts[False] == sum(w.elements for w in known.weights if w.part != "vision")
    assert 0.9 < counts[True] / sum(w.elements for w in known.weights if w.part == "vision") < 1, "the encoder is known by its model_type, the projector is not"
    assert {unknown.path for unknown in strange.unknown} >= {"architectures", "vision_config"}
