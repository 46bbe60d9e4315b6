"""Flags and settings are inverses of each other."""

from hypothesis import given
from hypothesis import strategies as st

from serveright.engines.vllm import launch_flags, settings_from_flags
from serveright.engines.vllm.flags import EXTRA_SWITCHES, EXTRA_VALUES
from serveright.types.engine import Parallel, Settings

_size = st.sampled_from([1, 2, 4, 8])
_count = st.none() | st.integers(1, 1 << 20)
_word = st.none() | st.sampled_from(["fp8", "auto", "FLASHINFER", "deepep_low_latency"])


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    tp, dp = draw(_size), draw(_size)
    ep = tp * dp if tp * dp > 1 and draw(st.booleans()) else 1
    method = draw(st.sampled_from([None, "mtp", "eagle3"]))
    extra = dict.fromkeys(draw(st.sets(st.sampled_from(EXTRA_SWITCHES))), "true") | dict.fromkeys(draw(st.sets(st.sampled_from(EXTRA_VALUES))), "17")
    return Settings(
        parallel=Parallel(tp=tp, pp=draw(_size), dp=dp, ep=ep, dcp=draw(_size)),
        context_tokens=draw(_count),
        kv_dtype=draw(_word),
        mem_fraction=draw(st.none() | st.floats(0.1, 1)),
        max_num_seqs=draw(_count),
        token_budget=draw(_count),
        block_tokens=draw(_count),
        prefix_caching=draw(st.none() | st.booleans()),
        attention_backend=draw(_word),
        moe_backend=draw(_word),
        all2all_backend=draw(_word),
        speculative_method=method,
        speculative_tokens=draw(st.integers(0, 8)) if method else 0,
        eager=draw(st.booleans()),
        max_graph_batch=draw(_count),
        async_scheduling=draw(st.none() | st.booleans()),
        language_only=draw(st.booleans()),
        state_dtype=draw(_word),
        extra=extra,
    )


@given(settings())
def test_reading_the_flags_gives_the_settings_back(asked: Settings) -> None:
    assert settings_from_flags(launch_flags(asked)) == asked


def test_nothing_set_writes_nothing() -> None:
    assert launch_flags(Settings()) == {}


def test_expert_parallelism_and_speculation_in_vllms_words() -> None:
    asked = Settings(parallel=Parallel(tp=1, dp=8, ep=8), speculative_method="mtp", speculative_tokens=1, kv_dtype="fp8")
    assert launch_flags(asked) == {
        "--data-parallel-size": "8",
        "--enable-expert-parallel": None,
        "--kv-cache-dtype": "fp8",
        "--speculative-config": '{"method": "mtp", "num_speculative_tokens": 1}',
    }
