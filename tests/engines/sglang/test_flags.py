"""Flags and settings are inverses of each other."""

from hypothesis import given
from hypothesis import strategies as st

from serveright.engines.sglang import launch_flags, settings_from_flags
from serveright.engines.sglang.flags import EXTRA_SWITCHES, EXTRA_VALUES
from serveright.types.engine import Parallel, Settings

_size = st.sampled_from([1, 2, 4, 8])
_count = st.none() | st.integers(1, 1 << 20)
_word = st.none() | st.sampled_from(["fp8_e4m3", "auto", "flashinfer", "deepep"])
_free = sorted(set(EXTRA_VALUES) - {"speculative-draft-model-path", "speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens"})


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    tp, dp = draw(_size), draw(_size)
    ep = tp * dp if tp * dp > 1 and draw(st.booleans()) else 1
    method = draw(st.sampled_from([None, "mtp", "eagle3", "ngram"]))
    extra = dict.fromkeys(draw(st.sets(st.sampled_from(EXTRA_SWITCHES))), "true") | dict.fromkeys(draw(st.sets(st.sampled_from(_free))), "17")
    return Settings(
        parallel=Parallel(tp=tp, pp=draw(_size), dp=dp, ep=ep, dcp=draw(_size)),
        context_tokens=draw(_count),
        kv_dtype=draw(_word),
        mem_fraction=draw(st.none() | st.floats(0.1, 1)),
        max_num_seqs=draw(_count),
        token_budget=draw(_count),
        block_tokens=draw(_count),
        prefix_caching=draw(st.none() | st.just(False)),
        attention_backend=draw(_word),
        moe_backend=draw(_word),
        all2all_backend=draw(_word),
        speculative_method=method,
        speculative_tokens=draw(st.integers(0, 8)) if method else 0,
        eager=draw(st.booleans()),
        max_graph_batch=draw(_count),
        async_scheduling=draw(st.none() | st.just(False)),
        language_only=draw(st.booleans()),
        state_dtype=draw(_word),
        extra=extra,
    )


@given(settings())
def test_reading_the_flags_gives_the_settings_back(asked: Settings) -> None:
    assert settings_from_flags(launch_flags(asked)) == asked


@given(settings(), st.sampled_from(["0.4.6", "0.5.3", "0.5.9", "0.5.14", "0.5.23"]))
def test_older_spellings_are_read_back_too(asked: Settings, version: str) -> None:
    assert settings_from_flags(launch_flags(asked, version)) == asked


def test_nothing_set_writes_nothing() -> None:
    assert launch_flags(Settings()) == {}


def test_attention_ranks_in_sglangs_words() -> None:
    """SGLang counts all GPUs as --tp-size and splits attention ranks off; here tp is what one attention rank is split over."""
    assert settings_from_flags({"--tp-size": "8", "--dp-size": "8", "--enable-dp-attention": None}).parallel == Parallel(tp=1, dp=8)
    assert settings_from_flags({"--tp-size": "8", "--dp-size": "2", "--enable-dp-attention": None}).parallel == Parallel(tp=4, dp=2)
    assert settings_from_flags({"--tp": "4", "--dp": "2"}).parallel == Parallel(tp=4, replicas=2)
    assert launch_flags(Settings(parallel=Parallel(tp=1, dp=8)), "0.5.9") == {"--tp-size": "8", "--dp-size": "8", "--enable-dp-attention": None}


def test_a_draft_of_its_own_is_told_from_prediction_layers() -> None:
    chain = {"--speculative-algorithm": "EAGLE", "--speculative-num-steps": "3", "--speculative-eagle-topk": "1", "--speculative-num-draft-tokens": "4"}
    assert (settings_from_flags(chain).speculative_method, settings_from_flags(chain).speculative_tokens) == ("mtp", 3)
    assert settings_from_flags({**chain, "--speculative-draft-model-path": "d"}).speculative_method == "eagle"
    tree = settings_from_flags({**chain, "--speculative-eagle-topk": "4", "--speculative-num-draft-tokens": "16"})
    assert launch_flags(tree)["--speculative-eagle-topk"] == "4"
