"""Configs no model can have are refused with both fields named; the file is called by its own name."""

import json
from pathlib import Path

import pytest

from serveright.errors import InputError
from serveright.families.read import read_model
from serveright.types.source import ModelFiles

DENSE = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8192,
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
}
MOE = {**DENSE, "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "head_dim": 128}


def refusal(config):
    with pytest.raises(InputError) as caught:
        read_model(ModelFiles(id="m", origin="odd.json", config=config))
    return caught.value.message.values


@pytest.mark.parametrize("heads", [128, 7, 48])
def test_kv_heads(heads):
    values = refusal({**DENSE, "num_key_value_heads": heads})
    assert (values["file"], values["kv_key"], values["kv"], values["query_key"], values["query"]) == (
        "odd.json",
        "num_key_value_heads",
        heads,
        "num_attention_heads",
        64,
    )


def test_kv_heads_of_one_layer():
    assert refusal({**DENSE, "architectures": ["NobodyKnowsForCausalLM"], "num_key_value_heads": [8, 8, 7, 8]})["kv"] == 7


def test_nested_field_is_named_by_path():
    config = {"architectures": ["NobodyKnowsForConditionalGeneration"], "text_config": {**DENSE, "num_key_value_heads": 7}}
    assert refusal(config)["kv_key"] == "text_config.num_key_value_heads"


def test_experts():
    values = refusal({**MOE, "num_experts": 4})
    assert (values["top_key"], values["top"], values["experts_key"], values["experts"]) == ("num_experts_per_tok", 8, "num_experts", 4)


@pytest.mark.parametrize("layers", [10, 42, 200])
def test_ratios_belong_to_layers(layers):
    config = json.loads((Path(__file__).parent / "golden_latent" / "deepseek-v4-flash.json").read_text(encoding="utf-8"))["config"]
    assert refusal({**config, "num_hidden_layers": layers, "num_nextn_predict_layers": 0})["key"] == "compress_ratios"


@pytest.mark.parametrize(("key", "value"), [("head_dim", 0), ("num_attention_heads", 0), ("num_key_value_heads", -1)])
def test_nothing_is_zero_wide(key, value):
    assert refusal({**DENSE, key: value})["key"] == key


def test_one_class_name_as_text():
    assert refusal({**DENSE, "architectures": "LlamaForCausalLM"})["value"] == "'LlamaForCausalLM'"


def test_rope_leaves_some_of_the_row():
    config = json.loads((Path(__file__).parent / "golden_latent" / "deepseek-v4-flash.json").read_text(encoding="utf-8"))["config"]
    assert refusal({**config, "qk_rope_head_dim": config["head_dim"]})["key"] == "qk_rope_head_dim"
