"""What must hold for any model: more memory never fits less, more GPUs never store more each, longer requests never run in greater number."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from serveright.catalog.vllm import load_vllm_behaviour, load_vllm_memory
from serveright.engines.vllm import size
from serveright.engines.vllm.plan import plan
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.model import ModelShape
from serveright.units import GIB
from tests.budget import examples
from tests.engines.vllm.models import PLAIN, shapes
from tests.engines.vllm.oracle import gpu

LATEST = load_vllm_behaviour("0.33.0")
CALIBRATION = load_vllm_memory()
VERSIONS = ("0.11.0", "0.15.0", "0.19.1", "0.22.0", "0.26.0", "0.33.0")
CAPABILITIES = ("8.0", "9.0", "10.0", "12.0")


def sized(shape: ModelShape, capability: str = "9.0", *, version: str = "0.33.0", **asked: object) -> Sized:
    behaviour = load_vllm_behaviour(version)
    given_settings = replace(Settings(), **{"context_tokens": 32768, **asked})
    return size(shape, PLAIN, 10 * GIB, gpu(capability), behaviour, CALIBRATION, given_settings)


@given(shapes(), st.sampled_from(CAPABILITIES), st.floats(0.5, 0.9), st.floats(0.01, 0.1))
@settings(max_examples=examples(40), deadline=None)
def test_more_memory_never_fits_less(shape: ModelShape, capability: str, share: float, more: float) -> None:
    less_room, more_room = sized(shape, capability, mem_fraction=share), sized(shape, capability, mem_fraction=share + more)
    assert more_room.capacity.per_rank_tokens >= less_room.capacity.per_rank_tokens
    assert more_room.fits >= less_room.fits


@given(shapes(), st.sampled_from(VERSIONS), st.sampled_from([(1, 2), (2, 4), (4, 8)]))
@settings(max_examples=examples(40), deadline=None)
def test_more_gpus_never_store_more_each(shape: ModelShape, version: str, ranks: tuple[int, int]) -> None:
    few, many = (sized(shape, version=version, parallel=Parallel(tp=n)) for n in ranks)
    assert many.layout.stored_bytes_per_token <= few.layout.stored_bytes_per_token


@given(shapes(), st.integers(1, 60000), st.integers(1, 60000))
@settings(max_examples=examples(60), deadline=None)
def test_longer_requests_never_run_in_greater_number(shape: ModelShape, first: int, second: int) -> None:
    short, long = sorted((first, second))
    made = plan(shape, PLAIN, gpu("9.0"), LATEST, Settings(context_tokens=131072, token_budget=4096))
    blocks = [sum(g.pages(n, made.demand) for g in made.whole) for n in (short, long)]
    assert blocks[0] <= blocks[1]


@given(shapes(), st.sampled_from(VERSIONS), st.sampled_from(CAPABILITIES), st.sampled_from([1, 2, 4]))
@settings(max_examples=examples(40), deadline=None)
def test_every_derivation_evaluates_to_its_result(shape: ModelShape, version: str, capability: str, tp: int) -> None:
    found = sized(shape, capability, version=version, parallel=Parallel(tp=tp))
    names = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max, "lcm": math.lcm, "round": round}
    derivations = (*found.layout.derivation, *found.memory.derivation, *found.capacity.derivation)
    assert derivations
    for d in derivations:
        assert eval(d.formula, {"__builtins__": {}}, {**names, **d.values}) == pytest.approx(d.result), d.name


@given(shapes(), st.sampled_from([1, 2, 3]))
@settings(max_examples=examples(30), deadline=None)
def test_stages_hold_every_layer_once(shape: ModelShape, pp: int) -> None:
    made = plan(shape, PLAIN, gpu("9.0"), LATEST, Settings(context_tokens=32768, parallel=Parallel(pp=pp)))
    whole = plan(shape, PLAIN, gpu("9.0"), LATEST, Settings(context_tokens=32768))
    assert sum(len(g.layers) for g in made.whole) == len(whole.layers)
    assert made.pool_block_bytes <= whole.pool_block_bytes
