"""Whatever stands in a quantisation object: a checkpoint or one InputError, never a crash, and every tensor gets a format."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.errors import InputError
from serveright.formats.read import claims, read_checkpoint
from serveright.formats.resolve import format_of
from serveright.types.model import NumberFormat, Weight
from serveright.types.source import ModelFiles
from tests.budget import examples

KEYS = (
    "quant_method", "weight_block_size", "ignored_layers", "modules_to_not_convert", "ignore", "exclude", "exclude_modules", "config_groups", "targets", "weights",
    "num_bits", "type", "strategy", "group_size", "symmetric", "quant_algo", "quantized_layers", "kv_cache_scheme", "kv_cache_quant_algo", "quantization", "bits",
    "dynamic", "zero_point", "lm_head", "quant_type", "_type", "_data", "default", "module_fqn_to_config", "global_quant_config", "layer_quant_config", "weight", "dtype",
    "extra_config", "forward_dtype", "expert_dtype", "moe_quant_algo", "store_dtype", "producer", "name", "format", "input_activations", "modules_in_block_to_quantize",
)  # fmt: skip
WORDS = (
    "Linear",
    "re:(",
    "re:.*",
    "model.layers.3*",
    "*",
    "[",
    "fp4",
    "float",
    "int",
    "group",
    "MIXED_PRECISION",
    "NVFP4",
    "FP8",
    "modelopt",
    "lm_head",
    "q_proj",
)
leaves = st.none() | st.booleans() | st.integers(-3, 300) | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text(max_size=5)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5), max_leaves=15
)
WEIGHTS = (
    Weight(path="model.layers.3.self_attn.q_proj", part="attention", shape=(64, 32), shard="q_heads", units=4),
    Weight(path="model.layers.3.mlp.experts.*.down_proj", part="experts", shape=(32, 16), shard="experts", copies=8),
    Weight(path="model.norm", part="norm", shape=(32,), shard="replicated", linear=False),
)


@settings(max_examples=examples(600), deadline=None)
@given(
    st.sampled_from(sorted(claims())) | leaves,
    st.dictionaries(st.sampled_from(KEYS), values, max_size=8),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=3),
)
def test_any_quantisation_object(method: object, body: dict, beside: dict) -> None:
    files = ModelFiles(id="m", origin="test", config={"quantization_config": {**body, "quant_method": method}}, hf_quant_config=beside)
    try:
        stored = read_checkpoint(files)
    except InputError:
        return
    for weight in WEIGHTS:
        form = format_of(stored, weight)
        assert isinstance(form, NumberFormat)
        assert 0 < form.bits <= 64


@pytest.mark.parametrize("wrap", [str, lambda text: [text]])
@pytest.mark.parametrize("pattern", ["re:(", "re:(a+)+$", "re:(?:[a-z]+)*x", "re:" + "a" * 3000, "re:a{99999999999}"])
def test_a_pattern_that_cannot_be_used_is_reported(pattern: str, wrap: Callable[[str], object]) -> None:
    quantization = {"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8}}}, "ignore": wrap(pattern)}
    stored = read_checkpoint(ModelFiles(id="m", origin="test", config={"quantization_config": quantization}))
    assert [item.why.values["pattern"] for item in stored.unknown] == [pattern[:80]]
    assert format_of(stored, WEIGHTS[0]).bits == 8
