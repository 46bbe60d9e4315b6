"""What must hold for any model: more memory never fits less, more GPUs never store more each, tokens fill whole pages."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour, load_sglang_memory
from serveright.engines.sglang import size
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.model import ModelShape
from serveright.units import GIB
from tests.budget import examples
from tests.engines.sglang.models import PLAIN, delta, latent, model, shapes

CALIBRATION = load_sglang_memory()
VERSIONS = ("0.4.6", "0.5.0", "0.5.5", "0.5.9", "0.5.12", "0.5.17", "0.5.20", "0.5.23")
GPUS = ("h200-sxm", "b200-sxm", "a100-80gb-sxm", "l40s", "rtx-pro-6000-blackwell-server")


def sized(shape: ModelShape, gpu: str = "h200-sxm", *, version: str = "0.5.23", context: int = 32768, **asked: object) -> Sized:
    given_settings = replace(Settings(), **asked)
    return size(shape, PLAIN, 10 * GIB, load_gpu(gpu), load_sglang_behaviour(version), CALIBRATION, given_settings, context)


@given(shapes(), st.sampled_from(GPUS), st.floats(0.5, 0.85), st.floats(0.01, 0.1))
@settings(max_examples=examples(60), deadline=None)
def test_more_memory_never_fits_less(shape: ModelShape, gpu: str, share: float, more: float) -> None:
    less_room, more_room = sized(shape, gpu, mem_fraction=share), sized(shape, gpu, mem_fraction=share + more)
    assert more_room.memory.kv_pool_bytes >= less_room.memory.kv_pool_bytes
    assert more_room.capacity.per_rank_tokens >= less_room.capacity.per_rank_tokens
    assert more_room.fits >= less_room.fits


@given(shapes(), st.sampled_from(VERSIONS), st.sampled_from([(1, 2), (2, 4), (4, 8)]))
@settings(max_examples=examples(60), deadline=None)
def test_more_gpus_never_store_more_each(shape: ModelShape, version: str, ranks: tuple[int, int]) -> None:
    few, many = (sized(shape, version=version, parallel=Parallel(tp=n)) for n in ranks)
    assert many.layout.pool_bytes_per_token <= few.layout.pool_bytes_per_token
    assert many.layout.state_bytes_per_slot <= few.layout.state_bytes_per_slot


@given(shapes(), st.sampled_from([1, 16, 32, 64, 128]))
@settings(max_examples=examples(60), deadline=None)
def test_tokens_fill_whole_pages(shape: ModelShape, page: int) -> None:
    found = sized(shape, block_tokens=page, prefix_caching=False)
    assert found.capacity.per_rank_tokens % found.layout.block_tokens == 0


@given(shapes(), st.integers(64, 60000), st.integers(64, 60000))
@settings(max_examples=examples(60), deadline=None)
def test_longer_requests_never_run_in_greater_number(shape: ModelShape, first: int, second: int) -> None:
    short, long = sorted((first, second))
    assert sized(shape, context=long).capacity.max_concurrency <= sized(shape, context=short).capacity.max_concurrency


@given(shapes(), st.sampled_from(VERSIONS), st.sampled_from(GPUS), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2]))
@settings(max_examples=examples(60), deadline=None)
def test_every_derivation_evaluates_to_its_result(shape: ModelShape, version: str, gpu: str, tp: int, dp: int) -> None:
    found = sized(shape, gpu, version=version, parallel=Parallel(tp=tp, dp=dp))
    names = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max}
    derivations = (*found.layout.derivation, *found.memory.derivation, *found.capacity.derivation)
    assert derivations
    for d in derivations:
        assert eval(d.formula, {"__builtins__": {}}, {**names, **d.values}) == pytest.approx(d.result), d.name


@given(shapes(), st.sampled_from([2, 4, 8]))
@settings(max_examples=examples(40), deadline=None)
def test_attention_ranks_hold_their_own_requests(shape: ModelShape, dp: int) -> None:
    """With dp 8 and tp 1 every rank stores whole rows, and the deployment holds dp times what one rank does."""
    one, many = sized(shape, mem_fraction=0.8), sized(shape, mem_fraction=0.8, parallel=Parallel(tp=1, dp=dp))
    assert many.layout.pool_bytes_per_token == one.layout.pool_bytes_per_token
    assert many.capacity.tokens == dp * many.capacity.per_rank_tokens
    assert many.capacity.max_concurrency == pytest.approx(dp * many.capacity.per_rank_concurrency)


@given(st.integers(1, 4), st.sampled_from([None, 4, 128]), st.sampled_from([1, 2, 4]), st.sampled_from([None, 8]), st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_v4_of_few_layers_is_answered(count: int, ratio: int | None, pp: int, most: int | None, drafts: bool) -> None:
    kind = {None: "sliding_mla", 4: "csa", 128: "hca"}[ratio]
    row = replace(latent(), kind=kind, compress_ratio=ratio, window_tokens=128)
    shape = model(*[row] * count, architecture="DeepseekV4ForCausalLM")
    found = sized(shape, parallel=Parallel(tp=4, pp=pp), max_num_seqs=most, speculative_method="EAGLE" if drafts else None, context=4096)
    assert found.capacity.per_rank_tokens >= 0


def test_a_model_of_states_alone_stores_no_rows() -> None:
    found = sized(model(*[delta()] * 4, architecture="Qwen3NextForCausalLM"))
    assert found.layout.stored_bytes_per_token == 0
    assert found.layout.state_bytes_per_slot > 0
