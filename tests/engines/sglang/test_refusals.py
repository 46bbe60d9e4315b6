"""Starts that SGLang refuses, in its own words, and requests it turns away after it started."""

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour, load_sglang_memory
from serveright.engines.sglang import resolve, size
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.model import ModelShape
from serveright.units import GIB
from tests.engines.sglang.models import PLAIN, delta, full, latent, model

LATEST = load_sglang_behaviour("0.5.23")


@pytest.mark.parametrize(
    ("shape", "gpu", "asked", "words"),
    [
        (model(full()), "h200-sxm", Settings(kv_dtype="nvfp4"), "requires Blackwell SM100 or SM120"),
        (model(full()), "h200-sxm", Settings(kv_dtype="mxfp8"), "requires an SM100+ (Blackwell) GPU"),
        (model(full()), "b200-sxm", Settings(attention_backend="fa3"), "FlashAttention v3"),
        (model(full(query=28, kv=4)), "h200-sxm", Settings(parallel=Parallel(tp=8)), "self.total_num_heads % attn_tp_size == 0"),
        (model(full(), context=4096), "h200-sxm", Settings(context_tokens=8192), "greater than the derived context_length"),
        (model(latent(), architecture="DeepseekV3ForCausalLM"), "b200-sxm", Settings(kv_dtype="nvfp4"), "provides neither"),
    ],
    ids=["nvfp4-hopper", "mxfp8-hopper", "fa3-blackwell", "heads", "context", "nvfp4-latent"],
)
def test_the_engines_own_words(shape: ModelShape, gpu: str, asked: Settings, words: str) -> None:
    refusals = resolve(shape, PLAIN, load_gpu(gpu), LATEST, asked).refusals
    assert any(words in r.text for r in refusals), [r.text for r in refusals]
    assert all(r.source.startswith("sglang 0.5.23 ") for r in refusals)


def sized(shape: ModelShape, weights: int, context: int, asked: Settings | None = None) -> Sized:
    return size(shape, PLAIN, weights, load_gpu("h200-sxm"), LATEST, load_sglang_memory(), asked or Settings(), context)


def test_weights_that_fill_the_gpu_leave_no_pool() -> None:
    found = sized(model(*[full()] * 32), 140 * GIB, 4096)
    assert not found.fits
    assert (found.memory.kv_pool_bytes, found.capacity.tokens) == (0, 0)
    assert found.capacity.refusals[0].why.values == {"excess": found.memory.excess_bytes}


def test_a_request_longer_than_the_pool_is_turned_away() -> None:
    shape = model(*[full(32)] * 64, context=131072)
    found = sized(shape, 110 * GIB, 131072)
    assert 0 < found.capacity.tokens < 131072
    assert any(r.text.startswith("Input length (131072 tokens) exceeds the maximum allowed length") for r in found.capacity.refusals)


def test_states_can_bind_before_tokens() -> None:
    shape = model(*[full(2) if i % 4 == 3 else delta(64) for i in range(48)], architecture="Qwen3NextForCausalLM")
    found = sized(shape, 120 * GIB, 512)
    assert found.capacity.limited_by == "state_slots"
