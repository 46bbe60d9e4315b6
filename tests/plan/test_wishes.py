"""What `plan` can be asked beyond the choice: each wish changes what it should and nothing else."""

import random

import pytest

from serveright import api
from serveright.api import deploying
from serveright.api.asking import traffic_of
from serveright.api.planning import Wishes
from serveright.catalog.models import load as find_model
from serveright.errors import UserError
from serveright.readers.expert_load import ExpertLoad
from serveright.readers.measured import MeasuredRun
from serveright.types.answers import Answer
from serveright.types.reports import PlanReport
from serveright.types.traffic import Traffic

DEEPSEEK = "deepseek-ai/DeepSeek-V3.2"


def by_code(report: PlanReport) -> dict[str, Answer]:
    return {answer.code: answer for answer in report.answers}


def ask(model: str = DEEPSEEK, gpu: str = "8xh200", wishes: Wishes | None = None, engine: str = "vllm", **traffic: object) -> PlanReport:
    return api.plan(model, gpu, Traffic(**{"concurrency": 32, **traffic}), engine=engine, wishes=wishes or Wishes())  # type: ignore[arg-type]


def test_simulation_stands_beside_the_closed_form() -> None:
    report = ask("Qwen/Qwen3-32B", "2xh100", Wishes(simulate=True), input_tokens=(2000, 8000), output_tokens=(300, 900))
    estimate, run = report.candidates[0].estimate, report.simulated
    assert estimate is not None
    assert run is not None
    assert run.tpot_s["mean"] == pytest.approx(estimate.tpot_s, rel=0.25)
    assert run.tpot_s["p50"] <= run.tpot_s["p90"] <= run.tpot_s["p99"]
    assert ask("Qwen/Qwen3-32B", "2xh100").simulated is None


def test_measurements_pull_estimates_of_their_engine_towards_them() -> None:
    free = ask(engine="both")
    plain = {
        c.engine.name: c.estimate
        for c in free.candidates
        if c.estimate and c.parallel.tp == 8 and c.parallel.ep == 1 and not c.speculative_tokens and c.parallel.dcp == 1
    }
    slow = 1.5 * plain["vllm"].tpot_s  # type: ignore[union-attr]
    runs = tuple(MeasuredRun(concurrency=load, input_tokens=2048, output_tokens=512, tpot_s=slow, engine="vllm", layout="TP8") for load in (32, 33))
    report = ask(wishes=Wishes(calibrate=runs), engine="both")
    after = {
        c.engine.name: c.estimate
        for c in report.candidates
        if c.estimate and c.parallel.tp == 8 and c.parallel.ep == 1 and not c.speculative_tokens and c.parallel.dcp == 1
    }
    assert after["sglang"] == plain["sglang"]
    assert after["vllm"].tpot_s == pytest.approx(slow, rel=0.12)  # type: ignore[union-attr]
    width = [high / low for low, high in (e.range["tpot_s"] for e in (plain["vllm"], after["vllm"]) if e)]
    assert width[1] < width[0]
    assert [p.layout for p in report.anchors] == ["TP8", "TP8"]


def test_measurements_without_a_layout_say_what_was_assumed() -> None:
    run = MeasuredRun(concurrency=32, input_tokens=2048, output_tokens=512, tpot_s=0.02, tool="vllm")
    assert ask(wishes=Wishes(calibrate=(run,))).anchors[0].note is not None
    assert ask(wishes=Wishes(calibrate=(run,), measured_with="tp8+ep")).anchors[0].layout == "TP8+EP8"
    with pytest.raises(UserError):
        ask(wishes=Wishes(calibrate=(run,), measured_with="eight"))
    with pytest.raises(UserError):
        ask(wishes=Wishes(calibrate=(run,), measured_with="TP1"))


def skewed(experts: int = 256, layers: int = 58) -> ExpertLoad:
    source = random.Random(1)
    rows = []
    for _ in range(layers):
        row = [1000 / (1 + place) ** 0.8 for place in range(experts)]
        source.shuffle(row)
        rows.append(tuple(row))
    return ExpertLoad(rows=tuple(rows))


def test_uneven_experts_cost_and_redundant_ones_are_advised() -> None:
    even, uneven = ask(wishes=Wishes(expert_load=ExpertLoad(rows=((1.0,) * 256,) * 58))), ask(wishes=Wishes(expert_load=skewed()))
    assert even.experts is not None
    assert even.experts.flags == ()
    assert {choice.prefill_gain for choice in even.experts.choices} == {0}
    assert uneven.experts is not None
    assert uneven.experts.hottest_gpu > 1.3
    assert [flag.flag for flag in uneven.experts.flags] == ["--enable-eplb", "--eplb-config.num_redundant_experts"]
    prices = [choice.extra_bytes_per_gpu for choice in uneven.experts.choices]
    assert prices == sorted(prices)
    slow, quick = (next(c.estimate for c in r.candidates if c.parallel.ep == 8 and c.parallel.dp == 1 and c.estimate) for r in (uneven, even))
    assert slow.output_tokens_per_s < quick.output_tokens_per_s  # type: ignore[union-attr]


def test_answers_follow_from_model_and_traffic() -> None:
    text = by_code(ask())
    assert {"doubled-prompt", "drafting-pays-until", "index-share"} <= text.keys()
    assert not {"images", "prefix-gain", "gpus-for-rate"} & text.keys()
    assert text["index-share"].values["index_scores"] == 61 * 32768
    shared = by_code(ask(input_tokens=(8192, 8192), shared_prefix_tokens=6144))
    assert shared["prefix-gain"].values["throughput_factor"] > 1.1  # type: ignore[operator]
    rated = by_code(ask(concurrency=None, rate_per_s=20.0))
    assert rated["gpus-for-rate"].values["gpus"] % 8 == 0  # type: ignore[operator]
    seen = by_code(ask("Qwen/Qwen3.6-27B", "2xh200", images_per_request=3, input_tokens=(500, 500)))
    assert seen["images"].values["factor"] == pytest.approx(1 + 3 * seen["images"].values["tokens_per_image"] / 500)  # type: ignore[operator]


def test_other_checkpoints_only_where_the_gpu_has_the_format() -> None:
    wish = Wishes(other_checkpoints=True)
    names = {gpu: {c.checkpoint for c in ask(gpu=gpu, wishes=wish).candidates} for gpu in ("8xb200", "8xh200")}
    assert names["8xh200"] == {DEEPSEEK}
    assert names["8xb200"] == {DEEPSEEK, "nvidia/DeepSeek-V3.2-NVFP4"}
    best = ask(gpu="8xb200", wishes=wish)
    assert best.chosen is not None
    assert best.candidates[0].checkpoint in best.chosen.command


def test_exchange_backend_stands_in_the_command_with_its_reason() -> None:
    wide = ask(gpu="16xh200", concurrency=2048, engine="vllm", wishes=Wishes(objective="users"))
    exchanged = [f for f in (wide.chosen.flags if wide.chosen else ()) if f.flag == "--all2all-backend"]
    left = [x for x in (wide.chosen.left_to_engine if wide.chosen else ()) if x.flag == "--all2all-backend"]
    assert len(exchanged) + len(left) == 1
    assert (exchanged or left)[0].why.template


def test_plan_shows_what_its_own_audit_says() -> None:
    report = ask()
    assert report.findings
    assert all(f.severity == "note" for f in report.findings)


def test_a_length_the_model_does_not_read_gives_no_command() -> None:
    report = api.plan("Qwen/Qwen3-8B", "2xh100", Traffic(concurrency=4, context_tokens=60_000))
    assert report.chosen is None
    assert report.ways_out[0].values == {"n": 60_000, "window": 40_960}


def test_a_presets_length_gives_way_where_its_requests_still_fit() -> None:
    report = api.plan("Qwen/Qwen3-8B", "2xh100", traffic_of("evaluation", {}))
    assert report.chosen is not None
    assert report.steps["design"]["traffic"].context_tokens == 40_960
    assert api.plan("Qwen/Qwen3-8B", "2xh100", traffic_of("long-document", {})).chosen is None


def test_amd_kernels_are_switched_on_where_vllm_leaves_them_off() -> None:
    instinct = ask("openai/gpt-oss-120b", "8xmi300x").chosen
    assert instinct is not None
    assert instinct.env == {"VLLM_ROCM_USE_AITER": "1"}
    assert instinct.command.startswith("VLLM_ROCM_USE_AITER=1 vllm serve")
    others = (ask("openai/gpt-oss-120b", "8xh200").chosen, ask("Qwen/Qwen3-8B", "w7900").chosen)
    assert all(chosen is not None and not chosen.env for chosen in others), "NVIDIA has no such variable, and Radeon no such kernels"


def test_a_layout_one_engine_refuses_is_named_with_that_engine() -> None:
    report = ask(engine="both")
    refused = [name for name, reason in report.rejected if reason.code == "dp-without-ep"]
    assert "DP8 (vllm)" in refused
    assert "DP8" not in refused


def test_copies_are_audited_on_the_gpus_of_one() -> None:
    report = ask("Qwen/Qwen3-8B", "8xh200", concurrency=256)
    assert report.chosen is not None
    assert report.chosen.parallel.replicas > 1
    assert "PAR16" not in {finding.code for finding in report.findings}


def test_a_rate_tells_how_many_tokens_a_rank_exchanges() -> None:
    report = ask(gpu="128xh100", concurrency=None, rate_per_s=20.0, input_tokens=(16384, 65536), output_tokens=(512, 2048), context_tokens=131_072)
    assert report.chosen is not None
    why = {flag.flag: flag.why for flag in report.chosen.flags} | {left.flag: left.why for left in report.chosen.left_to_engine}
    tokens = why["--all2all-backend"].values["tokens"]
    assert isinstance(tokens, int)
    assert tokens >= 1


def test_one_nvlink_domain_wider_than_a_node_exchanges_over_it() -> None:
    report = ask(gpu="72xgb200", concurrency=4096)
    assert report.chosen is not None
    assert report.chosen.parallel.gpus > 4
    assert "deepep" not in report.chosen.command


@pytest.mark.parametrize(
    ("model", "gpu", "engine"), [("openai/gpt-oss-120b", "8xmi300x", "vllm"), (DEEPSEEK, "72xgb200", "vllm"), (DEEPSEEK, "8xh200", "sglang")]
)
def test_files_say_what_the_command_says(model: str, gpu: str, engine: str) -> None:
    report = ask(model, gpu, engine=engine, concurrency=1024)
    assert report.chosen is not None
    text = deploying.emit(report, find_model(model), "shell", "en")[0].text
    for flag in report.chosen.flags:
        assert flag.flag in text
        assert flag.value is None or flag.value in text
    assert all(f"{name}={value}" in text for name, value in report.chosen.env.items())
    assert ("HIP_VISIBLE_DEVICES=" in text) == (gpu == "8xmi300x")
