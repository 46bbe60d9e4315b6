"""What drafting brings and costs, by hand."""

import pytest
from msgspec import structs

from serveright.analysis.speculation import DEFAULT_ACCEPTANCE, Speculation, acceptance, accepted_tokens, draft_s
from serveright.types.engine import Parallel
from tests.analysis.performance import CALIBRATION, dense, gpu, work


@pytest.mark.parametrize(("tokens", "rate", "yields"), [(0, 0.9, 1), (1, 0.5, 1.5), (3, 0.5, 1.875), (4, 1.0, 5), (4, 0.0, 1)])
def test_a_step_yields_its_own_token_and_the_accepted_prefix(tokens: int, rate: float, yields: float) -> None:
    assert accepted_tokens(tokens, rate) == pytest.approx(yields)


def test_the_given_rate_wins_then_the_fitted_one_then_the_default() -> None:
    fitted = structs.replace(CALIBRATION, speculation={"acceptance": 0.8, "acceptance_chain": 0.6})
    assert acceptance(Speculation(tokens=3, acceptance=0.1), fitted) == 0.1
    assert acceptance(Speculation(tokens=1), fitted) == 0.8
    assert acceptance(Speculation(tokens=2), fitted) == 0.6
    assert acceptance(Speculation(tokens=2), structs.replace(CALIBRATION, speculation={"acceptance": 0.8})) == 0.8
    assert acceptance(Speculation(), structs.replace(CALIBRATION, speculation={})) == DEFAULT_ACCEPTANCE


WORK = structs.replace(work(dense(layers=8)), kernels=structs.replace(work(dense()).kernels, plain=0, latent=0, recurrent=0, expert=0))
FREE = structs.replace(CALIBRATION, speculation={})


def test_few_sequences_wait_for_the_weights_of_one_layer() -> None:
    """A model without prediction layers of its own is charged one of its layers, read once per drafted token."""
    read = sum(bundle.bytes for bundle in WORK.bundles) / 8 / gpu().bandwidth_bytes_per_s / FREE.hardware.dense_bandwidth
    assert draft_s(WORK, gpu(), Parallel(), Speculation(tokens=1), FREE, 1) == pytest.approx(read)
    assert draft_s(WORK, gpu(), Parallel(tp=4), Speculation(tokens=3), FREE, 1) == pytest.approx(3 * read / 4)


def test_many_sequences_wait_for_arithmetic() -> None:
    """Two operations a weight and sequence, at what the fp8 kernels reach of the datasheet."""
    rate = 2 * 1e15 * FREE.gemm["fp8"]
    multiply = 2 * sum(bundle.elements for bundle in WORK.bundles) / 8 / rate / FREE.hardware.dense_compute
    once, twice = (draft_s(WORK, gpu(), Parallel(), Speculation(), FREE, tokens) for tokens in (1e6, 2e6))
    assert twice == pytest.approx(2 * once)
    assert once == pytest.approx(1e6 * multiply)


def test_own_prediction_layers_are_read_whole() -> None:
    own = structs.replace(WORK, draft=WORK.bundles)
    one, eight = (draft_s(made, gpu(), Parallel(), Speculation(), FREE, 1) for made in (WORK, own))
    assert eight == pytest.approx(8 * one)
    started = structs.replace(FREE, speculation={"draft_step_s": 0.001})
    assert draft_s(own, gpu(), Parallel(), Speculation(tokens=2), started, 1) == pytest.approx(2 * (eight + 0.001))
