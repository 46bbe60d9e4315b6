"""A list of layer numbers names layers that exist, or the config is refused by that list's path."""

import pytest

from serveright.errors import InputError
from tests.families.published import read

BASE = {"hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 2048, "vocab_size": 1000}
MLA = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
KDA = {"head_dim": 128, "num_heads": 8, "short_conv_kernel_size": 4}
MAMBA = {"mamba_num_heads": 16, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4}
MOE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
INDEX = {"index_topk": 2048, "index_n_heads": 8, "index_head_dim": 128}


def config(architecture: str, **more):
    return {"architectures": [architecture], **BASE, **more}


def kimi(full, delta):
    return config("KimiLinearForCausalLM", **MLA, linear_attn_config={**KDA, "full_attn_layers": full, "kda_layers": delta})


CASES = [
    (lambda n: config("SolarOpen2ForCausalLM", gqa_layers=[0, n], linear_attn_config=KDA), "gqa_layers", range(8)),
    (lambda n: config("NobodyKnowsForCausalLM", gqa_layers=[0, n], linear_attn_config=KDA), "gqa_layers", range(8)),
    (lambda n: config("NobodyKnowsForCausalLM", attn_layer_indices=[0, n], **MAMBA), "attn_layer_indices", range(8)),
    (lambda n: config("NobodyKnowsForCausalLM", local_layer_ids=[0, n], sliding_window_size=512), "local_layer_ids", range(8)),
    (lambda n: kimi([n], list(range(1, 9))), "linear_attn_config.full_attn_layers", range(1, 9)),
    (lambda n: kimi(list(range(1, 9)), [n]), "linear_attn_config.kda_layers", range(1, 9)),
    (lambda n: config("Qwen3MoeForCausalLM", head_dim=128, mlp_only_layers=[n], **MOE), "mlp_only_layers", range(8)),
    (lambda n: config("LlamaForCausalLM", per_layer_config={"0": {"head_dim": 64}, str(n): {"head_dim": 64}}), "per_layer_config", range(8)),
    (lambda n: config("Step3TextForCausalLM", moe_layers_enum=f"0,{n}", **MOE), "moe_layers_enum", range(8)),
    (lambda n: config("DeepseekV32ForCausalLM", index_source_layer_ids=[0, n], **MLA, **INDEX), "index_source_layer_ids", range(8)),
]


UNSIGNED = ("per_layer_config", "moe_layers_enum")
"""Written as texts, where a sign is no part of a number."""


@pytest.mark.parametrize(
    ("make", "path", "valid", "off"), [(*case, off) for case in CASES for off in ("before", "behind") if off == "behind" or case[1] not in UNSIGNED]
)
def test_a_number_of_no_layer_is_refused_by_path(make, path, valid, off):
    number = valid[0] - 1 if off == "before" else valid[-1] + 1
    with pytest.raises(InputError) as refused:
        read(make(number))
    assert refused.value.message.values["key"] == path
    assert refused.value.message.values["number"] == number


@pytest.mark.parametrize(("make", "path", "valid"), CASES)
def test_first_and_last_layer_are_layers(make, path, valid):
    for number in (valid[0], valid[-1]):
        assert len(read(make(number)).layers) == 8


@pytest.mark.parametrize("source", [3, -2, 8])
def test_rows_come_from_an_earlier_layer(source):
    listed = [-1, 0, source, *[-1] * 5]
    with pytest.raises(InputError) as refused:
        read(config("NobodyKnowsForCausalLM", linear_num_heads=8, kv_source_layers=listed))
    assert refused.value.message.values["key"] == "kv_source_layers"
