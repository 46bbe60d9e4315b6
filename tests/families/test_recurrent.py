"""Recurrent and hybrid models: state shapes as engines allocate them, layer lists in every spelling, fuzzing."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serveright.errors import UserError
from serveright.families.read import read_model
from serveright.types.model import ModelShape, Recurrent, UnknownMixer
from serveright.types.source import ModelFiles
from tests.budget import examples

GOLDEN = {path.stem: json.loads(path.read_text())["config"] for path in sorted((Path(__file__).parent / "golden_latent").glob("*.json"))}


def read(config: dict[str, Any]) -> ModelShape:
    return read_model(ModelFiles(id="some/model", origin="test", config=config))


def state(name: str) -> Recurrent:
    return next(mixer for layer in read(GOLDEN[name]).layers for mixer in layer.mixers if isinstance(mixer, Recurrent))


def test_gated_delta_dimensions() -> None:
    mixer = state("qwen3.6-27b-nvfp4")
    assert mixer.state_shape == (48, 128, 128)
    assert mixer.conv_channels == 2 * 16 * 128 + 48 * 128
    assert (mixer.conv_rows, mixer.groups, mixer.state_dtype) == (3, 16, "float32")


def test_qwen_27b_is_a_hybrid_with_the_exact_total() -> None:
    shape = read(GOLDEN["qwen3.6-27b-nvfp4"])
    assert sum(weight.elements for weight in shape.weights) == 27_781_427_952
    full = [mixer for layer in shape.layers for mixer in layer.mixers if mixer.kind == "full"]  # type: ignore[union-attr]
    assert (len(full), full[0].query_heads, full[0].kv_heads, full[0].head_dim) == (16, 24, 4, 256)  # type: ignore[union-attr]
    assert (len(shape.mtp), shape.modalities) == (1, ("text", "image", "video"))


def test_mamba2_dimensions() -> None:
    mixer = state("nemotron-h-56b-base-8k")
    assert mixer.state_shape == (256, 64, 256)
    assert mixer.conv_channels == 256 * 64 + 2 * 8 * 256
    assert mixer.state_dtype is None


def test_delta_and_lightning_and_short_conv_dimensions() -> None:
    assert state("kimi-k3").state_shape == (96, 128, 128)
    assert state("kimi-k3").conv_channels == 3 * 96 * 128
    assert state("minimax-m1-80k").state_shape == (64, 128, 128)
    assert state("lfm2.5-8b-a1b").state_shape == ()
    assert (state("lfm2.5-8b-a1b").conv_channels, state("lfm2.5-8b-a1b").conv_rows) == (2048, 2)


def test_two_mixers_side_by_side() -> None:
    layer = read(GOLDEN["falcon-h1-34b-instruct"]).layers[0]
    assert [mixer.kind for mixer in layer.mixers] == ["mamba2", "full"]  # type: ignore[union-attr]
    layer = read(GOLDEN["longcat-flash-lite"]).layers[0]
    assert [mixer.kind for mixer in layer.mixers] == ["mla", "mla"]  # type: ignore[union-attr]
    assert layer.ffns[2].zero_experts == 128


def test_expert_latent_width_and_ffn_only_layers() -> None:
    shape = read(GOLDEN["nvidia-nemotron-3-super-120b-a12b-fp8"])
    moe = next(ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe")
    assert (moe.latent_dim, moe.gated, moe.experts) == (1024, False, 512)
    assert all(bool(layer.mixers) != bool(layer.ffns) for layer in shape.layers)


TINY: dict[str, Any] = {
    "architectures": ["SomethingNew"],
    "hidden_size": 64,
    "vocab_size": 100,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}


@pytest.mark.parametrize(
    "spelling",
    [
        {"layer_types": ["linear_attention", "full_attention"] * 2},
        {"layers_block_type": ["gdn", "attention"] * 2},
        {"full_attention_interval": 2},
        {"attn_type_list": [0, 1, 0, 1]},
        {"full_attn_idxs": [1, 3]},
        {"attn_layer_period": 2, "attn_layer_offset": 1},
    ],
)
def test_layer_lists_of_an_unknown_architecture(spelling: dict[str, Any]) -> None:
    shape = read({**TINY, **spelling})
    assert [layer.mixers[0].kind for layer in shape.layers] == ["gated_deltanet", "full"] * 2  # type: ignore[union-attr]
    assert any(entry.path == "architectures" for entry in shape.unknown)


def test_unknown_layer_word_is_never_guessed() -> None:
    shape = read({**TINY, "layer_types": ["quantum_foam", "full_attention"] * 2})
    assert isinstance(shape.layers[0].mixers[0], UnknownMixer)
    assert any("quantum_foam" in str(entry.why.values.values()) for entry in shape.unknown)


def test_linear_without_fields_is_unknown() -> None:
    config = {key: value for key, value in TINY.items() if not key.startswith("linear_")}
    shape = read({**config, "layer_types": ["linear_attention", "full_attention"] * 2})
    assert isinstance(shape.layers[0].mixers[0], UnknownMixer)


ABSURD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 300),
    st.integers(2**40, 2**60),
    st.text(max_size=6),
    st.floats(allow_nan=False),
    st.lists(st.integers(-3, 9), max_size=4),
    st.just({}),
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(GOLDEN)), data=st.data())
def test_any_field_may_be_absurd(name: str, data: st.DataObject) -> None:
    config = copy.deepcopy(GOLDEN[name])
    level = next((config[key] for key in ("text_config",) if isinstance(config.get(key), dict) and data.draw(st.booleans())), config)
    for key in data.draw(st.lists(st.sampled_from(sorted(level)), max_size=3)):
        level[key] = data.draw(ABSURD)
    for key in data.draw(st.lists(st.sampled_from(sorted(level)), max_size=2)):
        level.pop(key, None)
    try:
        read(config)
    except UserError:
        return
