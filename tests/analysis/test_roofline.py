from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis import layout, roofline
from serveright.types.engine import Parallel
from tests.analysis.performance import CALIBRATION, HARDWARE, dense, gpu, latent, work

MODELS = {"dense": work(dense()), "latent": work(latent())}
BATCH = st.floats(1, 512)
CONTEXT = st.floats(128, 131072)
MODEL = st.sampled_from(sorted(MODELS))
TP = st.sampled_from([1, 2, 4, 8])


def step(model: str, parallel: Parallel, batch: float, context: float, bandwidth: float = 4.8e12) -> float:
    split = layout.split(MODELS[model], gpu(bandwidth), parallel, CALIBRATION, 2.0)
    return sum(roofline.decode_parts(split, HARDWARE, batch, context).values())


@given(MODEL, TP, BATCH, CONTEXT, st.floats(1, 4))
def test_more_bandwidth_is_never_slower(model: str, tp: int, batch: float, context: float, more: float) -> None:
    assert step(model, Parallel(tp=tp), batch, context, 2e12 * more) <= step(model, Parallel(tp=tp), batch, context, 2e12) * (1 + 1e-9)


@given(MODEL, TP, BATCH, CONTEXT, st.floats(1, 8))
def test_longer_context_is_never_faster(model: str, tp: int, batch: float, context: float, more: float) -> None:
    assert step(model, Parallel(tp=tp), batch, context * more) >= step(model, Parallel(tp=tp), batch, context) * (1 - 1e-9)


@given(MODEL, TP, BATCH, CONTEXT, st.floats(1, 8))
def test_step_time_rises_with_batch(model: str, tp: int, batch: float, context: float, more: float) -> None:
    assert step(model, Parallel(tp=tp), batch * more, context) >= step(model, Parallel(tp=tp), batch, context) * (1 - 1e-9)


@given(MODEL, BATCH, CONTEXT)
def test_one_gpu_has_no_messages(model: str, batch: float, context: float) -> None:
    split = layout.split(MODELS[model], gpu(), Parallel(), CALIBRATION, 2.0)
    assert roofline.decode_parts(split, HARDWARE, batch, context)["messages"] == 0


@given(MODEL, TP, BATCH, CONTEXT)
def test_never_above_the_roofline(model: str, tp: int, batch: float, context: float) -> None:
    counted = MODELS[model]
    device = gpu()
    read = sum(b.bytes for b in counted.bundles) / tp / device.bandwidth_bytes_per_s
    flops = 2 * batch * sum(b.elements for b in counted.bundles) / tp / device.flops["fp8"]
    assert step(model, Parallel(tp=tp), batch, context) > max(read, flops)


def test_distinct_experts() -> None:
    assert roofline.distinct_share(8 / 256, 1, 1.0) == 8 / 256
    assert round(roofline.distinct_share(8 / 256, 64, 1.0), 3) == 0.869
    assert roofline.distinct_share(8 / 256, 64, 0.88) < 0.869
    assert roofline.distinct_share(1.0, 1, 1.0) > 0.999


def test_rows_and_pairs_of_a_window() -> None:
    assert roofline.rows_read(1, 128, 1000) == 128
    assert roofline.rows_read(1, 1e18, 1000) == 1000
    assert roofline.pairs(1, 1e18, 100) == 5000
    assert roofline.pairs(1, 10, 100) == 10 * 10 / 2 + 10 * 90
    assert roofline.pairs(1, 1e18, 100, before=100) == 15000


def test_smaller_layers_are_cheaper_than_their_bytes_say_under_tp() -> None:
    """What TP does not shrink: kernels and messages, so eight GPUs are far from eight times as fast."""
    one, eight = (step("dense", Parallel(tp=tp), 1, 1024) for tp in (1, 8))
    assert 1.2 < one / eight < 4


def test_index_share_leaves_one_indexer_per_four_layers() -> None:
    """Scores of one token at 1M: 61 million rows without sharing, a quarter with it."""
    from serveright.analysis.work import mixer_rows
    from serveright.types.model import Indexer, Latent

    def layer(*, owns: bool) -> Latent:
        indexer = Indexer(heads=64, dim=128, topk=2048, owns_keys=owns)
        return Latent(kind="sparse_mla", query_heads=128, kv_lora_rank=512, rope_dim=64, nope_dim=128, v_head_dim=128, indexer=indexer)

    def scored(layers: list[Latent]) -> float:
        return sum(roofline.rows_read(rows.per_token, rows.cap, 1e6) for mixer in layers for rows in mixer_rows(mixer) if rows.itemsize)

    assert scored([layer(owns=True)] * 61) == 61e6
    assert scored([layer(owns=i % 4 == 0) for i in range(60)]) == 15e6
