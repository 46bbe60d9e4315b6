"""Placement is exact: against every possibility on small stocks, and honest about what is short."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.analysis.placement import place, solve
from serveright.errors import UsageError
from serveright.types.placing import Offer, Shelf, Wish
from serveright.types.traffic import Traffic
from tests.budget import examples

MODELS, KINDS = ("a", "b"), ("k", "l")
OFFERS = st.builds(
    Offer,
    model=st.sampled_from(MODELS),
    gpu=st.sampled_from(KINDS),
    gpus=st.sampled_from([1, 2, 4]),
    rate_per_s=st.sampled_from([0.5, 1.0, 2.5, 7.0]),
    engine=st.just("vllm"),
    layout=st.just("TP1"),
)


def wish(model: str, rate: float) -> Wish:
    return Wish(model=model, traffic=Traffic(rate_per_s=rate))


def cheapest(wishes: list[Wish], offers: list[Offer], shelves: list[Shelf]) -> float | None:
    """Every combination of copies."""
    best: float | None = None
    ranges = [range(next(shelf.count for shelf in shelves if shelf.gpu == offer.gpu) // offer.gpus + 1) for offer in offers]
    for copies in product(*ranges):
        used = {shelf.gpu: sum(o.gpus * n for o, n in zip(offers, copies, strict=True) if o.gpu == shelf.gpu) for shelf in shelves}
        if any(used[shelf.gpu] > shelf.count for shelf in shelves):
            continue
        if any(sum(o.rate_per_s * n for o, n in zip(offers, copies, strict=True) if o.model == w.model) < w.rate_per_s - 1e-9 for w in wishes):
            continue
        cost = sum(o.gpus * n * (next(s.usd_per_gpu_hour for s in shelves if s.gpu == o.gpu) or 1.0) for o, n in zip(offers, copies, strict=True))
        best = cost if best is None else min(best, cost)
    return best


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(OFFERS, min_size=1, max_size=4),
    st.tuples(st.sampled_from([0.4, 2.0, 6.0]), st.sampled_from([0.4, 2.0, 6.0])),
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
    st.tuples(st.sampled_from([1.0, 2.5]), st.sampled_from([1.0, 4.0])),
)
def test_as_cheap_as_the_best_of_all(offers: list[Offer], rates: tuple[float, float], counts: tuple[int, int], prices: tuple[float, float]) -> None:
    wishes = [wish(model, rate) for model, rate in zip(MODELS, rates, strict=True)]
    shelves = [Shelf(gpu=kind, count=count, usd_per_gpu_hour=price) for kind, count, price in zip(KINDS, counts, prices, strict=True)]
    best = cheapest(wishes, offers, shelves)
    found = solve(wishes, offers, shelves, 1.0)
    assert found.proved
    if best is None:
        assert any(unmet > 1e-6 for unmet in found.unmet.values())
    else:
        assert all(unmet < 1e-6 for unmet in found.unmet.values())
        assert sum(item.usd_per_hour or 0 for item in found.placed) == pytest.approx(best)
    for shelf in shelves:
        assert sum(item.offer.gpus * item.copies for item in found.placed if item.offer.gpu == shelf.gpu) <= shelf.count


def test_says_what_is_short() -> None:
    offers = [
        Offer(model="a", gpu="k", gpus=2, rate_per_s=1.0, engine="vllm", layout="TP2"),
        Offer(model="b", gpu="l", gpus=1, rate_per_s=1.0, engine="vllm", layout="TP1"),
    ]
    shelves = [Shelf(gpu="k", count=4, usd_per_gpu_hour=2.0), Shelf(gpu="l", count=4, usd_per_gpu_hour=1.0)]
    found, short = place([wish("a", 3.0), wish("b", 2.0), wish("c", 1.0)], offers, shelves, 1.0)
    by_model = {item.model: item for item in short}
    assert by_model["a"].unmet_per_s == pytest.approx(1.0)
    assert by_model["c"].more_gpus == {}
    assert sum(item.copies for item in found.placed) == 4
    _, only_a = place([wish("a", 3.0), wish("b", 2.0)], offers, shelves, 1.0)
    assert only_a[0].more_gpus == {"k": 2}


def test_a_file_from_end_to_end(tmp_path: Path) -> None:
    from serveright.api import placing

    file = tmp_path / "fleet.toml"
    file.write_text(
        "[stock]\nh200 = 8\nl40s = 8\n[price]\nl40s = 1.2\n"
        '[[model]]\nid = "Qwen/Qwen3-8B"\nrate_per_s = 4\ninput_tokens = 1000\noutput_tokens = 200\ntpot_s = 0.05\n'
        '[[model]]\nid = "openai/gpt-oss-120b"\nrate_per_s = 6\ninput_tokens = 2000\noutput_tokens = 400\ntpot_s = 0.04\nttft_s = 2\n'
    )
    report = placing.place(*placing.read_question(file), engine="vllm")
    assert not report.short
    assert report.proved
    for model, rate in (("Qwen/Qwen3-8B", 4), ("openai/gpt-oss-120b", 6)):
        assert sum(item.offer.rate_per_s * item.copies for item in report.placed if item.offer.model == model) * report.headroom >= rate
    assert report.usd_per_hour is not None
    small = placing.place([placing.read_question(file)[0][1]], [Shelf(gpu="l40s", count=1, usd_per_gpu_hour=1.2)], engine="vllm")
    assert small.short[0].model == "openai/gpt-oss-120b"


@pytest.mark.parametrize(("count", "rate", "tokens"), [(-3, 4.0, 1000), (8, float("nan"), 1000), (8, 0.0, 1000), (8, 4.0, 900_000)])
def test_impossible_questions_are_user_errors(count: int, rate: float, tokens: int) -> None:
    from serveright.api import placing

    asked = Wish(model="Qwen/Qwen3-8B", traffic=Traffic(rate_per_s=rate, input_tokens=(tokens, tokens), output_tokens=(200, 200)))
    with pytest.raises(UsageError):
        placing.place([asked], [Shelf(gpu="h200-sxm", count=count, usd_per_gpu_hour=1.0)], engine="vllm")
