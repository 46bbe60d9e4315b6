"""Directions that were published or measured must come out of the shipped calibration, whole models from the catalogue and real GPUs."""

import random

import pytest

from serveright.analysis import traffic as service
from serveright.analysis.answers import Asked, expert_share, index_share
from serveright.analysis.balancing import Group, expert_balance
from serveright.analysis.speculation import Speculation
from serveright.api.estimating import work_of
from serveright.api.loading import load_model
from serveright.catalog.calibration import load_performance
from serveright.catalog.gpus import load_gpu
from serveright.types.design import Estimate
from serveright.types.engine import Parallel
from serveright.types.traffic import Traffic

CALIBRATION = load_performance()


def served(model: str, gpu: str, parallel: Parallel, concurrency: int, prompt: int, answer: int, engine: str = "vllm", **given: object) -> Estimate:
    asked = Traffic(concurrency=concurrency, input_tokens=(prompt, prompt), output_tokens=(answer, answer))
    conditions = service.Conditions(engine=engine, **given)  # type: ignore[arg-type]
    return service.estimate(work_of(load_model(model)), load_gpu(gpu), parallel, asked, CALIBRATION, conditions)


def skewed(layer: int) -> list[float]:
    """A power law in random order."""
    loads = [1.0 / (1 + expert) ** 0.6 for expert in range(256)]
    random.Random(layer).shuffle(loads)
    return loads


def test_deepseek_r1_on_mi300x_prefers_tensor_parallel_at_low_and_data_parallel_at_high_concurrency() -> None:
    """ROCm's MoE guide, 8 x MI300X, 8k in 1k out: TP8+EP8 +52 % at 64 requests, DP8+EP8 +47 % at 1,024 (cache rooms as the 192 GB GPUs leave them)."""
    rooms = {"tp": 100.0, "dp": 800.0}

    def gain(concurrency: int) -> float:
        tp = served("deepseek-ai/DeepSeek-R1", "mi300x", Parallel(tp=8, ep=8), concurrency, 8192, 1024, room=rooms["tp"])
        dp = served("deepseek-ai/DeepSeek-R1", "mi300x", Parallel(dp=8, ep=8), concurrency, 8192, 1024, room=rooms["dp"])
        return tp.output_tokens_per_s / dp.output_tokens_per_s

    assert gain(8) > 1.05
    assert gain(1024) < 0.95
    assert gain(8) > gain(64) > gain(1024)


@pytest.mark.parametrize("gpu", ["h200-sxm", "b200-sxm"])
def test_four_copies_of_tp2_cross_tp8_with_load(gpu: str) -> None:
    """Llama-70B FP8, InferenceX: 4 x TP2 makes 0.63-0.83 of TP8's output at 16 requests, 1.1-1.5 at 128 (8k in: crossing at 32-64)."""

    def ratio(concurrency: int) -> float:
        copies = served("nvidia/Llama-3.1-70B-Instruct-FP8", gpu, Parallel(tp=2, replicas=4), concurrency, 8192, 1024)
        wide = served("nvidia/Llama-3.1-70B-Instruct-FP8", gpu, Parallel(tp=8), concurrency, 8192, 1024)
        return copies.output_tokens_per_s / wide.output_tokens_per_s

    assert ratio(8) < 0.9
    assert ratio(256) > 1.05


@pytest.mark.parametrize(("gpus", "nodes", "hottest"), [(32, 4, (2.2, 2.9)), (8, 1, (1.25, 1.6))])
def test_perfect_expert_balance_lifts_a_large_prefill_by_the_published_order(gpus: int, nodes: int, hottest: tuple[float, float]) -> None:
    """LMSYS: +18 % on 32 H100 in simulation; ATOM: +17 % by rearranging on 8 MI355X; TensorRT-LLM's table: hottest of 32 GPUs 2.56 times the mean."""
    work, gpu, parallel = work_of(load_model("deepseek-ai/DeepSeek-R1")), load_gpu("h100-sxm"), Parallel(dp=gpus, ep=gpus)
    asked = Asked(work=work, gpu=gpu, parallel=parallel, traffic=Traffic(concurrency=512), calibration=CALIBRATION, given=service.Conditions(engine="sglang"))
    group = Group(gpus=gpus, nodes=nodes, engine="sglang", expert_groups=8, expert_share=expert_share(asked), expert_bytes=44e6, free_bytes=1e11)
    uneven = expert_balance([skewed(layer) for layer in range(20)], group)
    assert hottest[0] < uneven.hottest_gpu < hottest[1]
    assert 0.12 < max(choice.prefill_gain for choice in uneven.choices) < 0.28
    even = expert_balance([[3.0] * 256] * 4, group)
    assert max(choice.prefill_gain for choice in even.choices) == 0
    assert even.flags == ()


def test_mtp_gain_falls_with_concurrency() -> None:
    """InferenceX DeepSeek-R1: tokens come 1.5-1.6 times as fast at 4 requests, 1.2-1.3 at 64, and less beyond."""
    loads = (1, 4, 16, 64, 256, 1024)
    model = ("deepseek-ai/DeepSeek-R1", "b200-sxm", Parallel(tp=8))
    plain = [served(*model, c, 1024, 1024, "sglang").tpot_s for c in loads]
    fast = [served(*model, c, 1024, 1024, "sglang", speculation=Speculation(tokens=1)).tpot_s for c in loads]
    gains = [a / b for a, b in zip(plain, fast, strict=True)]
    assert 1.2 < gains[1] < 1.8
    assert gains[-1] < gains[3] < gains[1]


def test_index_sharing_at_a_million_tokens() -> None:
    """GLM-5.2's authors: FLOPs of a token fall 2.9 times at 1M tokens; without sharing 61 layers of DeepSeek-V3.2 score 61 M keys."""
    shared, alone = (load_model(name) for name in ("zai-org/GLM-5.2", "deepseek-ai/DeepSeek-V3.2"))
    found = index_share(shared.shape, work_of(shared), 1_048_576)
    assert found is not None
    assert found.flops_ratio == pytest.approx(2.9, rel=0.08)
    short = index_share(shared.shape, work_of(shared), 8192)
    assert short is not None
    assert short.flops_ratio < 1.1
    own = index_share(alone.shape, work_of(alone), 1_000_000)
    assert own is not None
    assert (own.scores, own.flops_ratio) == (61e6, 1.0)
