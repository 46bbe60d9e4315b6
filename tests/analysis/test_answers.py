from msgspec import structs

from serveright.analysis.answers import Asked, doubled_prompt, drafting_pays_until, prefix_gain, replicas_for_rate
from serveright.analysis.disaggregation import Pools, best_pools, disaggregated
from serveright.analysis.loop import Load
from serveright.analysis.speculation import Speculation
from serveright.analysis.traffic import Conditions
from serveright.types.engine import Parallel
from serveright.types.traffic import Traffic
from tests.analysis.performance import CALIBRATION, dense, gpu, latent, work

ASKED = Asked(
    work=work(latent()), gpu=gpu(), parallel=Parallel(tp=8), traffic=Traffic(concurrency=32, input_tokens=(4096, 4096), output_tokens=(512, 512)),
    calibration=CALIBRATION, given=Conditions(engine="vllm"),
)  # fmt: skip
ENGINE = CALIBRATION.scheduling["*/*"]
LOAD = Load(concurrency=64.0, input_tokens=4096.0, output_tokens=512.0)


def test_drafting_pays_up_to_a_concurrency_that_acceptance_moves() -> None:
    good, bad = (drafting_pays_until(ASKED, Speculation(tokens=3, acceptance=rate)) for rate in (0.8, 0.2))
    assert good > bad
    assert good >= 4


def test_replicas_grow_with_the_rate() -> None:
    counts = [replicas_for_rate(ASKED, rate) for rate in (0.5, 5.0, 50.0)]
    assert counts[0] == 1
    assert None not in counts
    assert counts == sorted(counts)  # type: ignore[type-var]
    impossible = structs.replace(ASKED, traffic=structs.replace(ASKED.traffic, tpot_target_s=1e-6))
    assert replicas_for_rate(impossible, 1.0) is None


def test_doubling_the_prompt_costs_and_sharing_it_pays() -> None:
    now, longer = doubled_prompt(ASKED)
    assert longer.tpot_s > now.tpot_s
    assert longer.output_tokens_per_s < now.output_tokens_per_s
    assert prefix_gain(ASKED) == 1
    assert prefix_gain(structs.replace(ASKED, traffic=structs.replace(ASKED.traffic, shared_prefix_tokens=3584))) > 1.2


def test_separate_prefill_never_holds_up_a_token() -> None:
    together = structs.replace(ASKED, work=work(dense()), traffic=structs.replace(ASKED.traffic, concurrency=64), parallel=Parallel(tp=2)).estimate()
    pools = Pools(prefill=Parallel(tp=2), decode=Parallel(tp=2))
    apart = disaggregated(work(dense()), gpu(), pools, ENGINE, CALIBRATION, LOAD)
    assert apart.tpot_s < together.tpot_s
    assert apart.transfer_s > 0


def test_pools_are_split_by_where_the_work_is() -> None:
    model = work(dense())
    prompts, answers = (
        best_pools(model, gpu(), Parallel(), Parallel(), 8, ENGINE, CALIBRATION, load)
        for load in (structs.replace(LOAD, input_tokens=16384.0, output_tokens=128.0), structs.replace(LOAD, input_tokens=512.0, output_tokens=4096.0))
    )
    assert prompts is not None
    assert answers is not None
    assert prompts[0].prefill.replicas > answers[0].prefill.replicas
    assert best_pools(model, gpu(), Parallel(tp=8), Parallel(tp=8), 8, ENGINE, CALIBRATION, LOAD) is None
