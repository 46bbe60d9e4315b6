"""Which layouts belong on several nodes: laws of what crosses, and agreement with deployments that were published."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis.topology import Advice, advise, island, link_of, spread
from serveright.analysis.weights import per_gpu_bytes
from serveright.api.loading import load_model
from serveright.catalog.gpus import parse_gpu_spec
from serveright.types.engine import Parallel

PUBLISHED = {
    # model, GPUs, nodes -> (tp, pp, dp, copies) of published deployments, all of which must be among the advised ones; where it was published
    ("deepseek-ai/DeepSeek-V3.1", "8xh200", 1): (
        {(8, 1, 1, 1), (1, 1, 8, 1)},
        "vllm-project/recipes DeepSeek-V3.1: single_node_tep and single_node_dep, verified on H200",
    ),
    ("deepseek-ai/DeepSeek-V3.1", "32xh200", 4): (
        {(1, 1, 32, 1)},
        "lmsys.org blog 2025-05-05: prefill on 4 nodes of 8 GPUs, EP32 with DP attention; vLLM blog 2025-12-17: wide EP on H200",
    ),
    ("deepseek-ai/DeepSeek-V3.1", "48xgb200", 12): ({(1, 1, 48, 1)}, "lmsys.org blog 2025-06-16: decode on 12 nodes (48 GPUs) of one NVL72"),
    ("zai-org/GLM-5.2-FP8", "8xh200", 1): ({(8, 1, 1, 1)}, "NVIDIA Dynamo recipe glm-5-2: FP8, 8x H200, one worker, TP8/EP8"),
    ("zai-org/GLM-5.2-FP8", "24xh200", 3): ({(8, 1, 1, 3)}, "NVIDIA Dynamo 1.7.0 recipe glm-5-2: FP8, 24x H200 as 3 workers x 8"),
    ("moonshotai/Kimi-K3", "16xh200", 2): (
        {(16, 1, 1, 1), (8, 2, 1, 1), (1, 1, 16, 1)},
        "vllm-project/recipes Kimi-K3: multi_node_tp, multi_node_tp_pp, multi_node_dep; H200 verified",
    ),
    ("moonshotai/Kimi-K3", "16xgb200", 4): ({(16, 1, 1, 1)}, "NVIDIA Dynamo recipe kimi-k3: 16x GB200 (4 nodes), one worker, TP16 over MNNVL"),
    ("moonshotai/Kimi-K2.5", "16xh100", 2): (
        {(8, 2, 1, 1), (16, 1, 1, 1), (1, 1, 16, 1)},
        "MoonshotAI/Kimi-K2 deploy_guidance: 16 GPUs with TP16 or DP+EP; vllm-project/recipes multi_node_tp_pp: Kimi-K2 on 16x H800",
    ),
    ("Qwen/Qwen3.6-27B", "16xh200", 2): ({(1, 1, 1, 16)}, "vllm-project/recipes Qwen3.6-27B: single_node_tp, verified from one RTX PRO 6000 on"),
}


def advice(model: str, gpu: str, nodes: int) -> tuple[Advice, ...]:
    loaded = load_model(model)
    return advise(loaded.shape, sum(per_gpu_bytes(loaded.need, Parallel()).values()), parse_gpu_spec(gpu, None, nodes))


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_layouts_are_advised(case: tuple[str, str, int]) -> None:
    found = {(a.spread.parallel.tp, a.spread.parallel.pp, a.spread.parallel.dp, a.spread.parallel.replicas) for a in advice(*case)}
    assert PUBLISHED[case][0] <= found, PUBLISHED[case][1]


def test_the_first_advice_keeps_the_slow_link_free() -> None:
    assert advice("zai-org/GLM-5.2-FP8", "32xh200", 4)[0].spread.network_messages == 0
    assert advice("moonshotai/Kimi-K3", "16xgb200", 4)[0].spread.network_messages == 0
    first, *others = advice("moonshotai/Kimi-K3", "16xh200", 2)
    assert (first.spread.parallel.tp, first.spread.parallel.pp) == (8, 2)
    assert first.spread.network_messages == 1
    assert all(other.spread.network_bytes_per_token > 100 * first.spread.network_bytes_per_token for other in others)


def test_what_does_not_fit_gets_no_advice() -> None:
    assert advice("moonshotai/Kimi-K3", "8xh200", 1) == ()


def test_a_rack_is_one_island() -> None:
    rack, node = parse_gpu_spec("72xgb200", None, 18), parse_gpu_spec("16xh200", None, 2)
    assert (island(rack), island(node)) == (72, 8)
    assert link_of(rack, 48) == "scale-up"
    assert link_of(node, 16) == "network"
    assert link_of(parse_gpu_spec("4xl40s"), 4) == "PCIe"


SIZES = st.sampled_from([1, 2, 4, 8])


@given(SIZES, st.sampled_from([1, 2, 4]), SIZES, st.booleans(), st.sampled_from(["64xh200", "64xgb200"]))
def test_laws(tp: int, pp: int, dp: int, experts: bool, gpu: str) -> None:
    fleet = parse_gpu_spec(gpu)
    shape = load_model("deepseek-ai/DeepSeek-V3.1").shape
    parallel = Parallel(tp=tp, pp=pp, dp=dp, ep=tp * dp if experts else 1)
    made = spread(shape, parallel, fleet)
    for crossing in made.crossings:
        assert crossing.derivation.result == pytest.approx(eval(crossing.derivation.formula, {"ceil": math.ceil}, dict(crossing.derivation.values)))
        assert crossing.bytes_per_token >= 0
        if gpu == "64xgb200":
            assert crossing.link in ("scale-up", "one GPU")
    tensor = [c for c in made.crossings if c.part == "tensor"]
    assert all(c.link == "scale-up" for c in tensor)
    if parallel.gpus <= fleet.per_node:
        assert made.network_bytes_per_token == 0
