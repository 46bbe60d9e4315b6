"""New architectures whose fields resemble known ones come out right, and say that nobody knows them."""

from collections import Counter

import pytest

from serveright.families.verdict import family
from tests.families.published import read

BASE = {
    "architectures": ["BrandNewForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 8,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 1000,
}
DELTA = {"linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4}
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": 1536}
INDEX = {"index_topk": 2048, "index_n_heads": 32, "index_head_dim": 128}
MAMBA = {"mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4}
KDA = {"linear_attn_config": {"full_attn_layers": [4, 8], "kda_layers": [1, 2, 3, 5, 6, 7], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}}
SPARSE = {"sparse_index_dim": 128, "sparse_num_index_heads": 4, "sparse_topk_blocks": 16, "sparse_block_size": 128, "sparse_attention_freq": [0, 0, *[1] * 6]}
CASES = [
    ({"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2, **DELTA}, "hybrid", {"gated_deltanet": 6, "full": 2}),
    ({"full_attention_interval": 4, **DELTA}, "hybrid", {"gated_deltanet": 6, "full": 2}),
    ({"layer_types": ["mamba"] * 6 + ["attention"] * 2, **MAMBA}, "hybrid", {"mamba2": 6, "full": 2}),
    ({"hybrid_override_pattern": "M-M*M-M-", **MAMBA}, "hybrid", {"mamba2": 4, "full": 1}),
    ({**KDA, **LATENT}, "hybrid", {"kimi_delta": 6, "mla": 2}),
    (LATENT, "mla", {"mla": 8}),
    ({**LATENT, **INDEX}, "dsa", {"sparse_mla": 8}),
    ({"sparse_attention_config": SPARSE}, "sparse", {"block_sparse": 6, "full": 2}),
    ({"layer_types": ["sliding_attention", "full_attention"] * 4, "sliding_window": 1024}, "swa", {"sliding": 4, "full": 4}),
    ({"local_layer_ids": [0, 1, 2, 4, 5, 6], "sliding_window_size": 512}, "swa", {"sliding": 6, "full": 2}),
    ({"num_key_value_heads": None, "multi_query": True}, "mqa", {"full": 8}),
    ({"num_local_experts": 16, "num_experts_per_tok": 2}, "gqa", {"full": 8}),
]


@pytest.mark.parametrize(("extra", "name", "kinds"), CASES)
@pytest.mark.parametrize("nest", [None, "text_config", "llm_config", "language_config"])
def test_fields_decide(extra, name, kinds, nest):
    config = {**BASE, **extra}
    if nest:
        config = {"architectures": config.pop("architectures"), nest: config}
    shape = read(config)
    assert family(shape).name == name
    assert Counter(mixer.kind for layer in shape.layers for mixer in layer.mixers) == kinds
    assert any(unknown.path == "architectures" for unknown in shape.unknown)


def test_dimensions_of_each_kind():
    extra = {"layer_types": ["sliding_attention", "full_attention"] * 4, "sliding_window": 1024, "swa_num_key_value_heads": 16, "global_head_dim": 256}
    layers = read({**BASE, **extra}).layers
    assert [(layer.mixers[0].kv_heads, layer.mixers[0].head_dim) for layer in layers[:2]] == [(16, 128), (8, 256)]


def test_last_layers_that_share_a_cache():
    layers = read({**BASE, "num_kv_shared_layers": 4}).layers
    assert [layer.cache_from for layer in layers] == [None] * 4 + [3] * 4


def test_heads_by_layer():
    layers = read({**BASE, "num_key_value_heads": [8, 4] * 4}).layers
    assert [layer.mixers[0].kv_heads for layer in layers] == [8, 4] * 4


@pytest.mark.parametrize("name", ["BrandNewForCausalLM", "LlamaForCausalLM"])
def test_layers_with_dimensions_of_their_own(name):
    extra = {"architectures": [name], "per_layer_config": {"1": {"head_dim": 256, "num_key_value_heads": 2}}}
    layers = read({**BASE, **extra}).layers
    assert [(layer.mixers[0].kv_heads, layer.mixers[0].head_dim, layer.mixers[0].v_head_dim) for layer in layers[:3]] == [
        (8, 128, 128),
        (2, 256, 256),
        (8, 128, 128),
    ]


def test_latent_layers_with_dimensions_of_their_own():
    layers = read({**BASE, **LATENT, "per_layer_config": {"02": {"kv_lora_rank": 1024}}}).layers
    assert [layer.mixers[0].kv_lora_rank for layer in layers[:4]] == [512, 512, 1024, 512]
