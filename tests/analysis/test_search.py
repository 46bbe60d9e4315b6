import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from serveright.analysis import layouts, search
from serveright.analysis.divisibility import divisibility
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.traffic import Traffic
from tests.analysis.performance import CALIBRATION, dense, gpu, latent, sized, work

CHECKPOINT = Checkpoint(method="none", format="bf16", dtype="bfloat16")


def find(shape: ModelShape, gpus: int = 8, nodes: int = 1, concurrency: int = 32, objective: search.Objective = "cost", **more: object) -> search.Found:
    def size(engine: str, settings: Settings) -> Sized:
        return sized(settings, 40_000 * settings.parallel.gpus - 60_000, engine=engine)

    option = search.Option(engine="vllm", version="0", checkpoint="m", work=work(shape), cuts=partial(divisibility, shape, CHECKPOINT), size=size)
    asked = Traffic(concurrency=concurrency, input_tokens=(4096, 4096), output_tokens=(512, 512), **more)  # type: ignore[arg-type]
    question = search.Question(shape=shape, fleet=Fleet(gpu=gpu(), count=gpus, nodes=nodes), traffic=asked, calibration=CALIBRATION, objective=objective)
    return search.search(question, [option])


def names(found: search.Found) -> list[str]:
    return [layouts.name(candidate.parallel) for candidate in found.candidates]


def reasons(found: search.Found) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for title, reason in found.rejected:
        out.setdefault(title, set()).add(reason.code)
    return out


def test_dense_models_get_no_expert_or_data_parallel_layouts() -> None:
    found = find(dense())
    assert "TP8" in names(found)
    assert not [name for name in names(found) if "EP" in name or "DP" in name]
    assert reasons(found)["TP8+EP8"] == {"ep-without-experts"}
    assert reasons(found)["DP8"] == {"dp-of-dense"}


def test_latent_moe_gets_every_family_of_layouts() -> None:
    found = find(latent())
    assert {"TP8", "TP8+EP8", "DP8+EP8", "TP2+DP4+EP8", "2xTP4", "TP8+DCP8"} <= set(names(found))
    assert reasons(found)["DP8"] == {"dp-without-ep"}


def test_heads_that_do_not_divide_are_refused_by_number() -> None:
    shape = dense()
    mixer = structs.replace(shape.layers[0].mixers[0], query_heads=40, kv_heads=10)  # type: ignore[type-var]
    odd = structs.replace(shape, layers=tuple(structs.replace(layer, mixers=(mixer,)) for layer in shape.layers))
    found = find(odd)
    assert "TP8" not in names(found)
    assert reasons(found)["TP8"] == {"does-not-divide"}


def test_tensor_parallelism_stays_inside_a_node_and_stages_span_nodes() -> None:
    found = find(dense(), gpus=16, nodes=2)
    assert "TP8+PP2" in names(found)
    assert reasons(found)["TP16"] == {"tp-across-nodes"}


def test_winner_has_no_reason_and_every_loser_has_one() -> None:
    found = find(latent())
    assert found.candidates[0].lost_because is None
    assert all(candidate.lost_because is not None for candidate in found.candidates[1:])
    unfit = [candidate for candidate in found.candidates if not candidate.fits]
    assert unfit
    assert {candidate.lost_because.code for candidate in unfit if candidate.lost_because} == {"does-not-fit"}


def test_objectives_choose_differently() -> None:
    big = dense(layers=80, hidden=8192)
    assert names(find(big, concurrency=4, objective="latency"))[0] == "TP8"
    latency, cheap = (find(big, concurrency=512, objective=wish).candidates[0].estimate for wish in ("latency", "cost"))  # type: ignore[arg-type]
    assert latency is not None
    assert cheap is not None
    assert latency.tpot_s <= cheap.tpot_s
    assert latency.output_tokens_per_s <= cheap.output_tokens_per_s
    context = find(latent(), objective="context").candidates[0]
    assert context.sized is not None
    assert context.sized.capacity.per_rank_tokens == max(c.sized.capacity.per_rank_tokens for c in find(latent()).candidates if c.sized)


def test_targets_come_before_the_objective() -> None:
    free = find(dense(layers=80, hidden=8192), concurrency=256).candidates[0].estimate
    assert free is not None
    strict = find(dense(layers=80, hidden=8192), concurrency=256, tpot_target_s=free.tpot_s * 0.8)
    winner = strict.candidates[0].estimate
    assert winner is not None
    assert winner.tpot_s <= free.tpot_s
    assert any(c.lost_because and c.lost_because.code == "misses-tpot" for c in strict.candidates)


def test_choice_flips_with_concurrency() -> None:
    found = find(latent())
    assert found.flips
    steps = [flip.at_concurrency for flip in found.flips]
    assert steps == sorted(steps)
    assert all(flip.origin != flip.to for flip in found.flips)


def test_pareto_front_is_strictly_better_at_something() -> None:
    front = [candidate.estimate for candidate in find(latent()).pareto]
    pairs = [(e.tpot_s, e.output_tokens_per_s) for e in front if e]
    assert pairs == sorted(pairs)
    assert [rate for _, rate in pairs] == sorted(rate for _, rate in pairs)


def test_cost_is_paid_for_the_whole_fleet() -> None:
    best = find(dense()).candidates[0]
    assert best.estimate is not None
    assert best.cost_per_million_tokens == pytest.approx(4.0 * 8 / 3600 / best.estimate.output_tokens_per_s * 1e6)


@pytest.mark.parametrize(("gpus", "nodes", "limit"), [(8, 1, 1.0), (64, 8, 5.0)])
def test_search_is_fast(gpus: int, nodes: int, limit: float) -> None:
    started = time.process_time()
    find(latent(), gpus=gpus, nodes=nodes, concurrency=16 * gpus)
    assert time.process_time() - started < limit


def test_exchange_backend_follows_phase_topology_and_batch() -> None:
    one, wide = Parallel(dp=8, ep=8), Parallel(dp=32, ep=32)
    assert layouts.all_to_all("vllm", gpu(), Parallel(tp=8, ep=8), 8) is None

    def backend(parallel: Parallel, tokens: float, phase: str = "decode") -> str:
        answer = layouts.all_to_all("vllm", gpu(), parallel, tokens, phase)
        assert answer is not None
        return answer[0]

    assert backend(wide, 32) == "deepep_low_latency"
    assert backend(wide, 1024) == "deepep_high_throughput"
    assert backend(one, 32, "prefill") == "deepep_high_throughput"
    assert backend(one, 32) == "allgather_reducescatter"


def test_losers_say_what_they_lack_in_the_words_of_the_objective() -> None:
    big = dense(layers=80, hidden=8192)

    def codes(**asked: object) -> set[str]:
        return {c.lost_because.code for c in find(big, concurrency=256, **asked).candidates if c.fits and c.lost_because}  # type: ignore[arg-type]

    assert codes(objective="cost") <= {"costs-more", "nearly-equal"}
    assert "costs-more" in codes(objective="cost")
    assert codes(objective="latency") == {"slower"}
    assert codes(objective="context") == codes(objective="users") == {"holds-less"}
    firsts = sorted(c.estimate.ttft_median_s for c in find(big, concurrency=256).candidates if c.estimate)
    assert "misses-ttft" in codes(ttft_target_s=1.01 * firsts[0])


@given(st.sampled_from([1, 2, 8]), st.sampled_from([1, 2, 4]), st.booleans(), st.sampled_from([1, 2]), st.sampled_from([1, 2]), st.sampled_from([1, 3]))
def test_a_layout_is_read_back_from_its_name(tp: int, dp: int, experts: bool, pp: int, dcp: int, copies: int) -> None:
    layout = Parallel(tp=tp, dp=dp, ep=tp * dp if experts else 1, pp=pp, dcp=dcp, replicas=copies)
    assert layouts.parse(layouts.name(layout)) == layout
    assert layouts.parse(f" {layouts.name(layout).lower()} ") == layout


@pytest.mark.parametrize("text", ["", "TP", "4", "TQ4", "TP2+TP4", "axTP4", "TP4+", "TP4+EP2x"])
def test_what_is_no_layout_is_not_read(text: str) -> None:
    assert layouts.parse(text) is None


def test_experts_without_a_number_spread_over_the_whole_deployment() -> None:
    assert layouts.parse("tp2+dp4+ep") == Parallel(tp=2, dp=4, ep=8)
