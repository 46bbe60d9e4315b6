import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from serveright.analysis import anchors, layout, loop, roofline, traffic
from serveright.analysis.speculation import Speculation
from serveright.types.engine import Parallel
from serveright.types.traffic import Traffic
from tests.analysis.performance import CALIBRATION, HARDWARE, dense, gpu, latent, work

DENSE, LATENT = work(dense()), work(latent())
ONE = Parallel()
GIVEN = traffic.Conditions(engine="vllm")


def asked(concurrency: int, prompt: int = 2048, answer: int = 512, **more: object) -> Traffic:
    return Traffic(concurrency=concurrency, input_tokens=(prompt, prompt), output_tokens=(answer, answer), **more)  # type: ignore[arg-type]


def predict(concurrency: int, parallel: Parallel = ONE, model=DENSE, given=GIVEN, **more: int):  # type: ignore[no-untyped-def]
    return traffic.estimate(model, gpu(), parallel, asked(concurrency, **more), CALIBRATION, given)


@given(st.integers(1, 256), st.integers(1, 4))
def test_token_time_and_throughput_rise_with_concurrency(concurrency: int, more: int) -> None:
    few, many = predict(concurrency), predict(concurrency * more)
    assert many.tpot_s >= few.tpot_s * (1 - 1e-3)
    assert many.output_tokens_per_s >= few.output_tokens_per_s * (1 - 1e-3)


@given(st.integers(1, 512), st.sampled_from([1, 2, 4, 8]))
def test_throughput_stays_under_the_roofline(concurrency: int, tp: int) -> None:
    """No batch can pass the FLOPs of prompt and answer at datasheet rate, nor read the weights faster than memory."""
    got = predict(concurrency, Parallel(tp=tp))
    device = gpu()
    flops_per_request = 2 * sum(b.elements for b in DENSE.bundles) * (2048 + 512)
    assert got.requests_per_s * flops_per_request < device.flops["fp8"] * tp
    steps_per_s = device.bandwidth_bytes_per_s * tp / sum(b.bytes for b in DENSE.bundles)
    assert got.output_tokens_per_s < concurrency * steps_per_s


def test_range_holds_the_prediction_and_widens_for_the_unknown() -> None:
    got = predict(32)
    for name, (low, high) in got.range.items():
        assert low < structs.asdict(got)[name] < high
    wide = structs.replace(CALIBRATION, interval=CALIBRATION.interval | {"tpot/unseen": (0.4, 2.5)})
    unseen = traffic.estimate(DENSE, gpu(), Parallel(), asked(32), wide, GIVEN)
    assert unseen.range["tpot_s"][1] > got.range["tpot_s"][1]
    known = structs.replace(wide, scheduling=wide.scheduling | {"vllm/hopper": wide.scheduling["*/*"]})
    assert traffic.estimate(DENSE, gpu(), Parallel(), asked(32), known, GIVEN).range["tpot_s"] == got.range["tpot_s"]


def test_saturated_cache_queues_and_the_median_says_so() -> None:
    free, tight = predict(128), predict(128, given=structs.replace(GIVEN, room=16.0))
    assert tight.tpot_s < free.tpot_s
    assert tight.ttft_median_s > 10 * free.ttft_median_s
    assert tight.output_tokens_per_s < free.output_tokens_per_s


def test_a_rate_finds_its_concurrency_and_names_saturation() -> None:
    calm = traffic.estimate(DENSE, gpu(), Parallel(), Traffic(rate_per_s=1.0, input_tokens=(2048, 2048), output_tokens=(512, 512)), CALIBRATION, GIVEN)
    assert calm.requests_per_s == pytest.approx(1.0, rel=0.02)
    flood = traffic.estimate(
        DENSE, gpu(), Parallel(), Traffic(rate_per_s=1e4, input_tokens=(2048, 2048), output_tokens=(512, 512)), CALIBRATION, structs.replace(GIVEN, room=64.0)
    )
    assert flood.requests_per_s < 1e3
    assert flood.dominated_by is not None
    assert "queue grows" in flood.dominated_by.template


def test_gain_of_drafting_falls_with_concurrency() -> None:
    """Published pairs: 1.57 at 4 requests, 1.25 at 64, nothing left around 256."""
    drafted = structs.replace(GIVEN, speculation=Speculation(tokens=3, acceptance=0.65))
    gains = [predict(c, Parallel(tp=8), LATENT).tpot_s / predict(c, Parallel(tp=8), LATENT, drafted).tpot_s for c in (4, 32, 256)]
    assert gains[0] > gains[1] > gains[2]
    assert 1.3 < gains[0] < 2.2


def test_wide_tensor_parallelism_and_replicas_cross_with_load() -> None:
    """Llama-70B in FP8 on 8 H100: 4xTP2 has 0.63-0.83 of TP8's throughput at 16 requests and overtakes between 32 and 128."""
    model = work(dense(layers=80, hidden=8192))
    ratio = [predict(c, Parallel(tp=2, replicas=4), model).output_tokens_per_s / predict(c, Parallel(tp=8), model).output_tokens_per_s for c in (8, 512)]
    assert ratio[0] < 0.85
    assert ratio[1] > 1.0


def test_data_parallel_attention_loses_at_low_and_wins_at_high_concurrency() -> None:
    tp8 = [predict(c, Parallel(tp=8, ep=8), LATENT, prompt=8192, answer=1024).output_tokens_per_s for c in (8, 640)]
    dp8 = [predict(c, Parallel(dp=8, ep=8), LATENT, prompt=8192, answer=1024).output_tokens_per_s for c in (8, 640)]
    assert tp8[0] > dp8[0]
    assert dp8[1] > tp8[1]


def test_shared_prefix_is_not_prefilled_again() -> None:
    cold = traffic.estimate(DENSE, gpu(), Parallel(), asked(32, 8192), CALIBRATION, GIVEN)
    warm = traffic.estimate(DENSE, gpu(), Parallel(), asked(32, 8192, shared_prefix_tokens=7168), CALIBRATION, GIVEN)
    assert warm.ttft_median_s < cold.ttft_median_s / 2
    assert warm.output_tokens_per_s > cold.output_tokens_per_s


def test_without_cuda_graphs_the_host_is_the_limit() -> None:
    """DeepSeek-R1 at batch 1 was measured 7.2 times slower on its fastest GPUs."""
    eager, graphs = (predict(1, Parallel(tp=8), LATENT, given).tpot_s for given in (structs.replace(GIVEN, eager=True), GIVEN))
    assert 3 < eager / graphs < 9


def test_goodput_counts_only_requests_in_time() -> None:
    strict = traffic.estimate(DENSE, gpu(), Parallel(), asked(64, tpot_target_s=1e-4), CALIBRATION, GIVEN)
    loose = traffic.estimate(DENSE, gpu(), Parallel(), asked(64, tpot_target_s=10.0), CALIBRATION, GIVEN)
    assert strict.goodput_per_s is not None
    assert loose.goodput_per_s is not None
    assert strict.goodput_per_s < 0.01 * loose.goodput_per_s
    assert loose.goodput_per_s == pytest.approx(loose.requests_per_s)


def test_anchor_pulls_the_prediction_and_narrows_the_range() -> None:
    plain = predict(32)
    anchor = anchors.Anchor(concurrency=32, measured={"tpot_s": plain.tpot_s * 1.4}, predicted={"tpot_s": plain.tpot_s})
    moved = predict(32, given=structs.replace(GIVEN, correction=anchors.correction([anchor])))
    assert 1.25 < moved.tpot_s / plain.tpot_s < 1.4
    assert moved.output_tokens_per_s < plain.output_tokens_per_s
    width = [each.range["tpot_s"][1] / each.range["tpot_s"][0] for each in (plain, moved)]
    assert width[1] < width[0]
    assert moved.ttft_median_s == plain.ttft_median_s


def test_two_anchors_tilt_with_concurrency() -> None:
    pair = [anchors.Anchor(concurrency=c, measured={"tpot_s": f}, predicted={"tpot_s": 1.0}) for c, f in ((4, 1.2), (64, 0.8))]
    tilt = anchors.correction(pair)
    assert tilt.factor("tpot_s", 4) > 1 > tilt.factor("tpot_s", 64)
    assert tilt.factor("ttft_mean_s", 4) == 1


def test_closed_loop_obeys_littles_law() -> None:
    split = layout.split(DENSE, gpu(), Parallel(), CALIBRATION, 2.0)
    load = loop.Load(concurrency=64.0, input_tokens=2048.0, output_tokens=512.0)
    got = loop.closed_loop(split, HARDWARE, CALIBRATION.scheduling["*/*"], load)
    assert got.requests_per_s * (got.ttft_median_s + 512 * got.tpot_s) == pytest.approx(64, rel=1e-6)
    alone = sum(roofline.decode_parts(split, HARDWARE, got.running, 2048 + 256).values())
    assert got.step_s == pytest.approx(alone, rel=1e-6)
