"""Each dialect on a small config: which tensor has which format, and why."""

import pytest
from msgspec.structs import replace

from serveright.errors import InputError
from serveright.formats import number
from serveright.formats.read import claims, read_checkpoint
from serveright.formats.resolve import format_of, resolver, spellings
from serveright.types.model import Checkpoint, Part, Weight
from serveright.types.source import ModelFiles

LAYER = "model.layers.3"


def checkpoint(quantisation: dict | None, hf_quant: dict | None = None, **config: object) -> Checkpoint:
    body = {"dtype": "bfloat16", **config} | ({"quantization_config": quantisation} if quantisation is not None else {})
    return read_checkpoint(ModelFiles(id="m", origin="test", config=body, hf_quant_config=hf_quant or {}))


def tensor(path: str, part: Part = "attention", *, linear: bool = True, shape: tuple[int, ...] = (256, 128), copies: int = 1) -> Weight:
    return Weight(path=path, part=part, shape=shape, shard="column", linear=linear, copies=copies)


Q = tensor(f"{LAYER}.self_attn.q_proj")
OUT = tensor(f"{LAYER}.self_attn.o_proj")
GATE = tensor(f"{LAYER}.mlp.gate_proj", "mlp")
DOWN = tensor(f"{LAYER}.mlp.down_proj", "mlp")
EXPERT = tensor(f"{LAYER}.mlp.experts.*.gate_proj", "experts", copies=8)
SHARED = tensor(f"{LAYER}.mlp.shared_experts.up_proj", "shared_experts")
ROUTER = tensor(f"{LAYER}.mlp.gate", "router")
NORM = tensor(f"{LAYER}.input_layernorm", "norm", linear=False, shape=(128,))
EMBED = tensor("model.embed_tokens", "embed", linear=False)
HEAD = tensor("lm_head", "head")
VISION = tensor("model.visual.blocks.0.attn.qkv", "vision")


def names(stored: Checkpoint, *weights: Weight) -> list[str]:
    resolve = resolver(stored)
    return [resolve(weight).name for weight in weights]


def test_without_quantisation_everything_has_the_models_dtype() -> None:
    stored = checkpoint(None)
    assert (stored.method, stored.format, stored.dtype) == ("none", "bf16", "bfloat16")
    assert names(stored, Q, EXPERT, NORM, HEAD) == ["bf16"] * 4
    assert checkpoint(None, torch_dtype="torch.float16", dtype=None).format == "fp16"


def test_block_fp8_leaves_head_router_norms_and_towers_alone() -> None:
    stored = checkpoint({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"})
    assert stored.format == "fp8"
    assert names(stored, Q, GATE, EXPERT, SHARED) == ["fp8"] * 4
    assert names(stored, ROUTER, NORM, EMBED, HEAD, VISION) == ["bf16"] * 5
    assert format_of(stored, Q) == number.fp8_block(128, 128)
    assert names(stored, tensor("model.layers.61.eh_proj", "mtp"), tensor(f"{LAYER}.self_attn.indexer.weights_proj", "indexer")) == ["bf16", "bf16"]


def test_fp8_exceptions_by_full_name_parent_and_abbreviation() -> None:
    base = {"quant_method": "fp8", "weight_block_size": None}
    assert format_of(checkpoint(base), Q) == number.FP8_TENSOR
    for entry in (f"{LAYER}.self_attn.q_proj", f"{LAYER}.self_attn", "self_attn", "q_proj", f"{LAYER}.self_attn.qkv_proj"):
        stored = checkpoint({**base, "modules_to_not_convert": [entry]})
        assert names(stored, Q, GATE) == ["bf16", "fp8"], entry
    stored = checkpoint({**base, "ignored_layers": [f"{LAYER}.self_attn.o_proj"], "modules_to_not_convert": ["q_proj"]})
    assert names(stored, OUT, Q) == ["bf16", "fp8"], "ignored_layers comes first, as in vLLM"


def test_an_entry_never_reaches_a_longer_number() -> None:
    stored = checkpoint({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1", "proj"]})
    assert names(stored, tensor("model.layers.1.mlp.up_proj", "mlp"), tensor("model.layers.10.mlp.up_proj", "mlp")) == ["bf16", "fp8"]


def test_deepseek_v4_has_experts_in_mxfp4_and_one_byte_scales() -> None:
    stored = checkpoint({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, expert_dtype="fp4")
    assert stored.format == "mixed"
    assert format_of(stored, EXPERT) == number.MXFP4
    assert format_of(stored, Q) == number.fp8_block(128, 128, scale_bits=8)
    plain = checkpoint({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})
    assert format_of(plain, Q).scale_bits == 32, "power-of-two scales are still stored as float32"


def test_deepseek_v41_tables_and_experts() -> None:
    quantisation = {"quant_method": "fp8", "weight_block_size": [32, 32], "expert_dtype": "fp4"}
    stored = checkpoint(quantisation, text_config={"engram_layer_ids": [1]})
    table = tensor("layers.1.engram.embed", "ngram", linear=False)
    assert format_of(stored, table) == number.MXFP8
    assert format_of(stored, EXPERT) == number.MXFP4
    assert names(checkpoint(quantisation), table) == ["bf16"]


def test_v4_with_nvfp4_experts_keeps_the_ignored_ones() -> None:
    stored = checkpoint({"quant_method": "fp8", "weight_block_size": [128, 128], "moe_quant_algo": "NVFP4", "ignore": ["*.attn.*", "mtp*"]}, expert_dtype="fp4")
    assert names(stored, EXPERT, tensor("mtp.0.ffn.experts.*.w1", "experts")) == ["nvfp4", "mxfp4"]


def group(weights: dict, targets: list[str], **more: object) -> dict:
    return {"weights": weights, "targets": targets, "input_activations": None, **more}


INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}


def test_compressed_tensors_groups_and_ignore_list() -> None:
    quantisation = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": group(INT4, ["Linear"])},
        "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"],
    }
    stored = checkpoint(quantisation)
    assert stored.format == "int4"
    assert format_of(stored, EXPERT) == number.integer(4, 32, zero=False)
    assert names(stored, Q, SHARED, GATE, HEAD, ROUTER) == ["bf16"] * 5


def test_compressed_tensors_nested_in_the_text_config_cannot_reach_towers() -> None:
    quantisation = {"quant_method": "compressed-tensors", "config_groups": {"a": group(INT4, ["Linear"])}}
    inside = checkpoint(None, text_config={"quantization_config": quantisation})
    assert names(inside, Q, VISION) == ["int4", "bf16"]
    assert names(checkpoint(quantisation), Q, VISION) == ["int4", "int4"]


def test_compressed_tensors_first_matching_group_wins_and_names_reach_the_head() -> None:
    eight = {"num_bits": 8, "type": "float", "strategy": "channel"}
    quantisation = {
        "quant_method": "compressed-tensors",
        "config_groups": {"a": group(eight, [r"re:.*self_attn\.(q|k|v|o)_proj$", "lm_head"]), "b": group(INT4, ["Linear"])},
    }
    stored = checkpoint(quantisation)
    assert names(stored, Q, GATE, HEAD) == ["fp8", "int4", "fp8"]
    assert stored.format == "mixed"


@pytest.mark.parametrize(
    ("weights", "activations", "packing", "expected"),
    [
        ({"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group"}, {"num_bits": 4}, "nvfp4-pack-quantized", number.NVFP4),
        ({"num_bits": 4, "type": "float", "group_size": 16}, None, "", number.NVFP4_WEIGHT_ONLY),
        ({"num_bits": 4, "type": "float", "group_size": 32, "scale_dtype": "torch.uint8"}, None, "mxfp4-pack-quantized", number.MXFP4),
        ({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 64]}, None, "", number.fp8_block(128, 64)),
        ({"num_bits": 8, "type": "float", "group_size": 32, "strategy": "group"}, {"num_bits": 8}, "", number.MXFP8),
        ({"num_bits": 8, "type": "int", "strategy": "channel"}, {"num_bits": 8}, "", number.integer(8, -1, zero=False, activation_bits=8)),
        ({"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": False}, None, "", number.integer(4, 128, zero=True)),
    ],
)
def test_compressed_tensors_weight_arguments(weights: dict, activations: dict | None, packing: str, expected: object) -> None:
    quantisation = {"quant_method": "compressed-tensors", "format": packing, "config_groups": {"a": group(weights, ["Linear"], input_activations=activations)}}
    assert format_of(checkpoint(quantisation), GATE) == expected


def test_modelopt_wildcards_and_old_plain_names() -> None:
    quantisation = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", f"{LAYER}.self_attn*", "shared_experts"]}
    stored = checkpoint(quantisation)
    assert stored.format == "nvfp4"
    assert names(stored, EXPERT, GATE) == ["nvfp4", "nvfp4"]
    assert names(stored, Q, OUT, SHARED, HEAD, ROUTER, VISION) == ["bf16"] * 6


def test_modelopt_names_with_and_without_the_language_model_prefix() -> None:
    stored = checkpoint({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["language_model.model.layers.3.self_attn*"]})
    for root in ("model.", "model.language_model.", "language_model.model."):
        assert names(stored, tensor(f"{root}layers.3.self_attn.q_proj"), tensor(f"{root}layers.4.self_attn.q_proj")) == ["bf16", "fp8"]


def test_modelopt_mixed_precision_by_module() -> None:
    layers = {
        f"{LAYER}.self_attn.q_proj": {"quant_algo": "FP8"},
        f"{LAYER}.mlp.experts.0.gate_proj": {"quant_algo": "NVFP4", "group_size": 16},
        f"{LAYER}.mlp.gate_proj": {"quant_algo": "w4a16_nvfp4", "group_size": 16},
        f"{LAYER}.mlp.down_proj": {"quant_algo": "MXFP8"},
        "lm_head": {"quant_algo": "FP8_PB_WO"},
    }
    stored = checkpoint({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers, "ignore": ["mtp*"]})
    assert names(stored, Q, EXPERT, GATE, DOWN, HEAD, OUT) == ["fp8", "nvfp4", "nvfp4", "mxfp8", "fp8", "bf16"]
    assert format_of(stored, GATE).activation_bits == 16
    assert stored.format == "mixed"


def test_modelopt_map_may_name_a_whole_module() -> None:
    stored = checkpoint({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {f"{LAYER}.mlp.experts": {"quant_algo": "NVFP4"}}})
    assert names(stored, EXPERT, GATE) == ["nvfp4", "bf16"]


def test_hf_quant_config_counts_only_without_one_in_the_config() -> None:
    beside = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    stored = checkpoint(None, beside)
    assert (stored.method, stored.format, stored.kv_dtype) == ("modelopt", "fp8", "fp8")
    assert stored.kv_source == "hf_quant_config.quantization.kv_cache_quant_algo"
    inside = checkpoint({"quant_method": "fp8"}, beside)
    assert (inside.method, inside.kv_dtype) == ("fp8", None)
    assert inside.kv_declared == {"hf_quant_config.quantization.kv_cache_quant_algo": "fp8"}, "SGLang may still hear it"


@pytest.mark.parametrize(
    ("quantisation", "wish"),
    [
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 4, "type": "float"}, "kv_cache_quant_algo": "FP8"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": None}, None),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({"quant_method": "compressed-tensors", "kv_cache_scheme": None}, None),
        ({"quant_method": "fp8", "kv_cache_quant_algo": "FP8"}, None),
    ],
)
def test_the_kv_wish_that_vllm_hears(quantisation: dict, wish: str | None) -> None:
    assert checkpoint(quantisation).kv_dtype == wish


def test_a_file_without_its_producer_is_not_heard() -> None:
    assert checkpoint(None, {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}).kv_dtype is None


def test_gpt_oss_quantises_experts_only() -> None:
    stored = checkpoint({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.embed_tokens"]})
    assert format_of(stored, EXPERT) == number.MXFP4
    assert names(stored, Q, GATE, HEAD) == ["bf16"] * 3


def test_awq_and_its_exceptions() -> None:
    stored = checkpoint({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "modules_to_not_convert": ["visual", "q_proj"]})
    assert format_of(stored, GATE) == number.integer(4, 128, zero=True)
    assert names(stored, Q, VISION, HEAD) == ["bf16"] * 3
    assert names(checkpoint({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "lm_head": True}), HEAD) == ["int4"]


def test_gptq_dynamic_rules() -> None:
    dynamic = {r"-:.*self_attn.*": {}, r"+:.*down_proj.*": {"bits": 8, "group_size": 64}}
    stored = checkpoint({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "dynamic": dynamic})
    assert names(stored, Q, DOWN, GATE, HEAD) == ["bf16", "int8", "int4", "bf16"]
    assert format_of(stored, DOWN) == number.integer(8, 64, zero=True)
    listed = checkpoint({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": [["self_attn.q_proj"], ["mlp.down_proj"]]})
    assert names(listed, Q, DOWN, GATE) == ["int4", "int4", "bf16"]


def test_bitsandbytes() -> None:
    four = {
        "quant_method": "bitsandbytes",
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
        "llm_int8_skip_modules": ["o_proj"],
    }
    assert names(checkpoint(four), Q, OUT, HEAD) == ["nf4", "bf16", "bf16"]
    assert format_of(checkpoint({"quant_method": "bitsandbytes", "load_in_8bit": True}), Q) == number.integer(8, -1, zero=False, scale_bits=32)


@pytest.mark.parametrize(
    ("kind", "name", "group"),
    [
        ({"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 64}}}, "int4", 64),
        ({"default": {"_type": "Int8DynamicActivationInt8WeightConfig", "_data": {}}}, "int8", -1),
        ({"default": {"_type": "Float8DynamicActivationFloat8WeightConfig", "_data": {}}}, "fp8", -1),
        ("int8wo", "int8", -1),
        ("float8dq", "fp8", -1),
    ],
)
def test_torchao_by_the_words_of_the_class(kind: object, name: str, group: int) -> None:
    form = format_of(checkpoint({"quant_method": "torchao", "quant_type": kind}), GATE)
    assert (form.name, form.group) == (name, group)


def test_torchao_by_module() -> None:
    modules = {
        f"{LAYER}.self_attn.q_proj": None,
        "re:.*gate_proj": {"_type": "Float8WeightOnlyConfig", "_data": {}},
        "_default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 32}},
    }
    kind = {"default": {"_type": "ModuleFqnToConfig", "_data": {"module_fqn_to_config": modules}}}
    assert names(checkpoint({"quant_method": "torchao", "quant_type": kind}), Q, GATE, DOWN) == ["bf16", "fp8", "int4"]


def test_quark_layers_before_the_global_scheme() -> None:
    four = {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}, "input_tensors": {"dtype": "fp4"}}
    eight = {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_channel"}}
    quantisation = {
        "quant_method": "quark",
        "global_quant_config": four,
        "layer_quant_config": {"*self_attn*": eight},
        "exclude": ["lm_head", "re:.*shared_experts.*"],
    }
    stored = checkpoint(quantisation)
    assert names(stored, EXPERT, Q, SHARED, HEAD) == ["mxfp4", "fp8", "bf16", "bf16"]
    assert format_of(stored, EXPERT).activation_bits == 4


def test_auto_round_extra_config() -> None:
    stored = checkpoint(
        {"quant_method": "auto-round", "bits": 4, "group_size": 128, "extra_config": {f"{LAYER}.self_attn.q_proj": {"bits": 16}, "down_proj": {"bits": 8}}}
    )
    assert names(stored, Q, DOWN, GATE) == ["bf16", "int8", "int4"]


def test_fp_quant() -> None:
    assert names(checkpoint({"quant_method": "fp_quant", "forward_dtype": "nvfp4", "modules_to_not_convert": ["lm_head"]}), Q, HEAD) == ["nvfp4", "bf16"]


def test_a_method_nobody_claims_is_named() -> None:
    stored = checkpoint({"quant_method": "zipnn9"})
    assert (stored.method, stored.format) == ("zipnn9", "unknown")
    assert [unknown.path for unknown in stored.unknown] == ["quantization_config.quant_method"]


@pytest.mark.parametrize(
    "quantisation",
    [
        {"quant_method": "fp8", "weight_block_size": "128"},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [0, 128]},
        {"quant_method": "awq", "bits": -4},
        {"quant_method": "gptq", "bits": "four"},
        {"quant_method": "compressed-tensors", "config_groups": ["a"]},
    ],
)
def test_absurd_values_are_refused_with_their_path(quantisation: dict) -> None:
    with pytest.raises(InputError) as caught:
        checkpoint(quantisation)
    assert str(caught.value.message.values["path"]).startswith("quantization_config.")


@pytest.mark.parametrize(
    ("quantisation", "path"),
    [
        ({"quant_method": "compressed-tensors", "config_groups": {"a": group({"num_bits": 5, "type": "float"}, ["Linear"])}}, "config_groups.a.weights"),
        ({"quant_method": "compressed-tensors", "ignore": ["re:("]}, "ignore"),
        ({"quant_method": "modelopt", "quant_algo": "FP3"}, "quant_algo"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {}}, "quantized_layers"),
        ({"quant_method": "torchao", "quant_type": "magic"}, "quant_type"),
        ({"quant_method": "fp_quant", "forward_dtype": "int3"}, "forward_dtype"),
        ({"quant_method": "fp8", "expert_dtype": "fp2"}, "expert_dtype"),
    ],
)
def test_what_is_not_understood_is_reported_by_path(quantisation: dict, path: str) -> None:
    assert f"quantization_config.{path}" in [unknown.path for unknown in checkpoint(quantisation).unknown]


def test_an_unknown_dtype_is_reported() -> None:
    assert [unknown.path for unknown in checkpoint(None, dtype="posit16").unknown] == ["dtype"]


def test_every_method_has_one_owner() -> None:
    assert {"fp8", "compressed-tensors", "modelopt", "modelopt_mixed", "mxfp4", "awq", "gptq", "bitsandbytes", "torchao", "fp_quant", "quark"} <= set(claims())


def test_the_index_gives_the_real_size() -> None:
    files = ModelFiles(id="m", origin="test", config={}, safetensors_index={"metadata": {"total_size": 1234}})
    assert read_checkpoint(files).file_bytes == 1234
    assert read_checkpoint(replace(files, safetensors_index={"metadata": {"total_size": "many"}})).file_bytes is None


def test_spellings_cover_roots_fused_names_and_the_first_expert() -> None:
    found = spellings("model.language_model.layers.3.mlp.experts.*.up_proj")
    assert "language_model.model.layers.3.mlp.experts.0.up_proj" in found
    assert "model.layers.3.mlp.experts.0.gate_up_proj" in found
