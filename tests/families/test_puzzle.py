"""Nemotron Puzzle: every layer's kind and sizes stand in `block_configs`, whatever the pattern beside it says."""

import json
from pathlib import Path

import pytest

from serveright.errors import InputError
from tests.families.published import read

CONFIG = json.loads((Path(__file__).parent / "golden_latent/nvidia-nemotron-3-nano-30b-a3b-bf16.json").read_text(encoding="utf-8"))["config"]
WIDE = {"block_type": "moe", "n_routed_experts": 128, "moe_intermediate_size": 1856, "num_experts_per_tok": 6}
SMALL = {"block_type": "moe", "n_routed_experts": 64, "moe_intermediate_size": 928, "num_experts_per_tok": 4}
BLOCKS = [{"block_type": "mamba"}, WIDE, {"block_type": "attention"}, SMALL, {"block_type": "attention", "num_key_value_heads": 8}]


def puzzle(blocks):
    return read({**CONFIG, "architectures": ["NemotronHPuzzleForCausalLM"], "num_hidden_layers": len(blocks), "block_configs": blocks})


def test_sizes_differ_by_layer():
    layers = puzzle(BLOCKS).layers
    assert [m.kind for layer in layers for m in layer.mixers] == ["mamba2", "full", "full"]
    assert [(f.experts, f.intermediate, f.experts_per_token) for layer in layers for f in layer.ffns] == [(128, 1856, 6), (64, 928, 4)]
    assert [layer.mixers[0].kv_heads for layer in (layers[2], layers[4])] == [CONFIG["num_key_value_heads"], 8]


def test_equal_blocks_are_the_plain_model():
    pattern = "MEM*E"
    words = {"M": "mamba", "E": "moe", "*": "attention"}
    plain = read({**CONFIG, "hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern)})
    own = puzzle([{"block_type": words[letter]} for letter in pattern])
    assert own.layers == plain.layers
    assert own.weights == plain.weights


def test_a_block_that_is_no_object_is_refused():
    with pytest.raises(InputError) as refused:
        puzzle([{"block_type": "mamba"}, "moe"])
    assert refused.value.message.values["key"] == "block_configs[1]"
