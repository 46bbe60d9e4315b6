"""Logical bytes of a sequence: the figures that other tools miss, by one mechanism, each with a derivation that evaluates."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.analysis.cache import element_bytes, logical_cache
from serveright.errors import UnknownName
from serveright.families.read import read_model
from serveright.types.cache import StateDefaults
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from tests.budget import examples

GOLDEN = Path(__file__).parent.parent / "families" / "golden_latent"
LLAMA_70B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_hidden_layers": 80,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}
EXACT = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max, "lcm": math.lcm, "round": round}


def golden(name: str) -> ModelShape:
    config = LLAMA_70B if name == "llama-3.1-70b" else json.loads((GOLDEN / f"{name}.json").read_text())["config"]
    return read_model(ModelFiles(id=name, origin="test", config=config))


def gib(value: float) -> float:
    return value / 2**30


@pytest.mark.parametrize(
    ("name", "rows_gib", "state_mib"),
    [
        ("llama-3.1-70b", 10.000, 0.0),
        ("deepseek-v3.2", 2.621, 0.0),
        ("glm-5.2", 2.906, 0.0),
        ("qwen3.5-397b-a17b", 0.9375, 183.2),
        ("qwen3.6-27b-nvfp4", 2.000, 146.8),
        ("kimi-k3", 0.844, 428.6),
        ("deepseek-v4-pro", 0.308, 0.0),
    ],
)
def test_seven_hard_models_at_32768(name: str, rows_gib: float, state_mib: float) -> None:
    cache = logical_cache(golden(name), 32768, "bfloat16")
    assert round(gib(cache.bytes - cache.state_bytes), 3) == pytest.approx(rows_gib, abs=0.0006)
    assert round(cache.state_bytes / 2**20, 1) == state_mib


def test_v4_pro_against_v3_2_at_a_million_tokens() -> None:
    v4, v3 = (logical_cache(golden(name), 1_048_576, "bfloat16").bytes for name in ("deepseek-v4-pro", "deepseek-v3.2"))
    assert (round(gib(v4), 2), round(gib(v3), 1), round(v3 / v4, 1)) == (9.62, 83.9, 8.7)


@pytest.mark.parametrize(("kv_heads", "expected"), [(32, 393_216), (8, 98_304), (1, 12_288), (4, 49_152)])
def test_48_layers_of_32_heads_in_fp8(kv_heads: int, expected: int) -> None:
    config = {**LLAMA_70B, "num_hidden_layers": 48, "num_attention_heads": 32, "hidden_size": 4096, "num_key_value_heads": kv_heads}
    assert logical_cache(read_model(ModelFiles(id="m", origin="test", config=config)), 1, "fp8").bytes_per_token == expected


def test_state_takes_the_engine_default_only_where_the_config_is_silent() -> None:
    half = StateDefaults(source="an engine", by_kind={"kimi_delta": "bfloat16", "gated_deltanet": "bfloat16"})
    silent, said = golden("kimi-k3"), golden("qwen3.6-27b-nvfp4")
    assert logical_cache(silent, 1, "bfloat16", half).state_bytes < logical_cache(silent, 1, "bfloat16").state_bytes
    assert logical_cache(said, 1, "bfloat16", half).state_bytes == logical_cache(said, 1, "bfloat16").state_bytes
    assert any("an engine" in step.source for step in logical_cache(silent, 1, "bfloat16", half).derivation)


def test_unknown_number_type_is_named() -> None:
    with pytest.raises(UnknownName):
        element_bytes("fp7")
    assert element_bytes("torch.bfloat16") == 2
    assert element_bytes("nvfp4") == 0.5625


@settings(max_examples=examples(60), deadline=None)
@given(
    name=st.sampled_from(["deepseek-v4-pro", "deepseek-v4.1-flash", "inkling", "qwen3.8-flash-next", "glm-5.2", "kimi-k3", "longcat-flash-lite"]),
    tokens=st.integers(0, 2_000_000),
    dtype=st.sampled_from(["bfloat16", "fp8", "nvfp4"]),
)
def test_laws(name: str, tokens: int, dtype: str) -> None:
    shape = golden(name)
    here, more = logical_cache(shape, tokens, dtype), logical_cache(shape, tokens + 4096, dtype)
    assert here.bytes == sum(part.bytes for part in here.parts) <= more.bytes
    assert here.state_bytes <= here.fixed_bytes <= here.bytes
    for step in here.derivation:
        assert eval(step.formula, {"__builtins__": {}}, {**EXACT, **step.values}) == step.result, step.name
    if tokens > 100_000:
        assert more.bytes - here.bytes == pytest.approx(4096 * here.bytes_per_token, abs=len(here.parts) * 2)


def test_layers_that_read_another_layers_rows_keep_only_their_window() -> None:
    cache = logical_cache(golden("deepseek-v4.1-flash"), 32768, "bfloat16")
    layers = {kind: sum(part.layers for part in cache.parts if part.kind == kind) for kind in ("window", "compressed", "index_key")}
    assert layers == {"window": 40, "compressed": 4, "index_key": 4}
