"""What changed from version to version, each against the line of the wheel that says so (facts/engines/sglang/behaviour.toml)."""

import pytest
from msgspec.structs import replace

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour
from serveright.engines.sglang import layout, resolve
from serveright.engines.sglang.decide import decide, situation
from serveright.engines.sglang.state import slots_per_request
from serveright.types.engine import Settings
from serveright.types.model import Indexer, ModelShape
from tests.engines.sglang.models import PLAIN, delta, full, latent, model

EVERY = (
    *("0.4.6", "0.4.6.post5", "0.4.7", "0.4.7.post1", "0.4.8", "0.4.9", "0.4.9.post6", "0.4.10", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6"),
    *("0.5.7", "0.5.8", "0.5.8.post1", "0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.15", "0.5.16", "0.5.17", "0.5.18", "0.5.19"),
    *("0.5.20", "0.5.21", "0.5.22", "0.5.23"),
)
H200, B200 = load_gpu("h200-sxm"), load_gpu("b200-sxm")


def sparse(layers: int = 6) -> ModelShape:
    """Sparse latent attention where every second layer reuses the picks of the layer before."""
    keys = [Indexer(heads=64, dim=128, topk=2048, owns_keys=i % 2 == 0) for i in range(layers)]
    mixers = [replace(latent(64), indexer=key) for key in keys]
    return model(*mixers, architecture="GlmMoeDsaForCausalLM")


@pytest.mark.parametrize("version", EVERY)
def test_every_version_sizes_a_plain_model(version: str) -> None:
    behaviour = load_sglang_behaviour(version)
    shape = model(*[full()] * 32)
    assert layout(shape, PLAIN, H200, behaviour, Settings()).pool_bytes_per_token == 32 * 8 * 256 * 2
    fraction = resolve(shape, PLAIN, H200, behaviour, Settings()).mem_fraction
    assert fraction is not None
    assert 0.7 < fraction < 0.95


@pytest.mark.parametrize(("version", "owners"), [("0.5.17", 6), ("0.5.18", 3), ("0.5.23", 3)])
def test_index_keys_lie_on_every_layer_before_0_5_18(version: str, owners: int) -> None:
    found = layout(sparse(), PLAIN, H200, load_sglang_behaviour(version), Settings(kv_dtype="bfloat16" if version >= "0.5.4" else None))
    assert found.pool_bytes_per_token == 6 * 576 * 2 + owners * 132


@pytest.mark.parametrize(
    ("version", "gpu", "dtype"),
    [
        ("0.5.3", "h200-sxm", "bf16"),
        ("0.5.5", "h200-sxm", "bf16"),
        ("0.5.23", "h200-sxm", "bf16"),
        ("0.5.3", "b200-sxm", "fp8_e4m3"),
        ("0.5.23", "b200-sxm", "fp8_e4m3"),
    ],
)
def test_sparse_latent_rows_by_gpu_and_version(version: str, gpu: str, dtype: str) -> None:
    assert resolve(sparse(), PLAIN, load_gpu(gpu), load_sglang_behaviour(version), Settings()).kv_dtype == dtype


@pytest.mark.parametrize(("version", "slots"), [("0.5.12", 3), ("0.5.14", 5), ("0.5.23", 5)])
def test_states_a_request_holds(version: str, slots: int) -> None:
    shape = model(*[full(2) if i % 4 == 3 else delta() for i in range(8)], architecture="Qwen3NextForCausalLM")
    at = situation(shape, PLAIN, H200, load_sglang_behaviour(version))
    assert slots_per_request(decide(at, Settings()), at) == slots


@pytest.mark.parametrize(
    ("version", "gpu", "share"),
    [
        ("0.4.6", "h100-sxm", 0.88),
        ("0.4.6", "h200-sxm", (143771 - 13 * 1024) / 143771),
        ("0.5.9", "h200-sxm", round((143771 - 512 - 8192 * 1.5 - 256 * 2 - 128) / 143771, 3)),
        ("0.5.23", "h200-sxm", 0.903),
    ],
)
def test_the_static_share(version: str, gpu: str, share: float) -> None:
    """0.4.6 took it from a table by GPUs up to 80 GiB; later versions subtract what graphs and activations need."""
    assert resolve(model(*[full()] * 32), PLAIN, load_gpu(gpu), load_sglang_behaviour(version), Settings()).mem_fraction == share


@pytest.mark.parametrize(
    ("version", "word", "known"),
    [
        ("0.5.3", "bf16", False),
        ("0.5.4", "bf16", True),
        ("0.5.4", "fp4_e2m1", False),
        ("0.5.5", "fp4_e2m1", True),
        ("0.5.23", "fp4_e2m1", False),
        ("0.5.23", "int8", False),
    ],
)
def test_words_for_the_kv_cache(version: str, word: str, known: bool) -> None:
    found = resolve(model(full()), PLAIN, B200, load_sglang_behaviour(version), Settings(kv_dtype=word, attention_backend="triton"))
    unknown = [r for r in found.refusals if r.code == "sglang-kv-dtype-unknown"]
    assert bool(unknown) != known
    assert known or f"invalid choice: '{word}'" in unknown[0].text
