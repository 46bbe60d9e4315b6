"""Topics: every number is computed, every language says the same with the same terms, and the figures are right by hand."""

import re
import string
from collections.abc import Iterator

import msgspec
import pytest

from serveright import api
from serveright.analysis.rounding import E4M3_MAX, FP4_GRID, e2m1, e4m3, mxfp4, nvfp4
from serveright.catalog.glossary import glossary
from serveright.catalog.models import find
from serveright.catalog.topics import topic_text, topics
from serveright.errors import UserError
from serveright.outputs.views.explain import document
from serveright.types.document import Document
from serveright.types.lessons import ExplainReport

NAMES = re.compile(r"(?<![A-Za-z0-9])(?:FP8|FP4|NVFP4|MXFP4|bf16|sm_\d+|tcgen05|E4M3)(?![A-Za-z0-9])|2의 거듭제곱|`[^`]*`")
"""Names that hold digits and are no figures."""


def report(topic: str, **rest: str) -> ExplainReport:
    made = api.explain(topic, **rest)  # pyright: ignore[reportArgumentType]
    assert isinstance(made, ExplainReport)
    return made


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("topic", sorted(topics()))
def test_no_number_is_written_by_hand(topic: str) -> None:
    for lang in ("en", "ko"):
        bare = NAMES.sub("", re.sub(r"\{[^}]*\}", "", topic_text(topic, lang)))
        assert not re.search(r"\d", bare), (lang, re.findall(r".{0,30}\d.{0,30}", bare))


@pytest.mark.parametrize("topic", sorted(topics()))
def test_both_languages_show_the_same_figures(topic: str) -> None:
    english, korean = fields(topic_text(topic, "en")), fields(topic_text(topic, "ko"))
    assert english == korean
    assert english, "a topic without a figure teaches nothing that can be checked"


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("topic", sorted(topics()))
def test_every_topic_renders(topic: str, lang: str) -> None:
    from serveright.outputs import text

    made = report(topic, lang=lang)
    assert made.note is None, "the topic's own model must have what it is about"
    page: Document = document(made)
    shown = text.document(page, text.Options(lang=lang, color=False, columns=0, explain=False))
    assert "{" not in shown.replace("${", "")
    assert set(made.next) <= set(topics())


def _bullets() -> Iterator[tuple[str, str, object]]:
    yield "mla", "token_bytes", 61 * 576 * 2
    yield "mla", "against_hidden", 14.0
    yield "dsa", "owners", 21
    yield "dsa", "keys_token_bytes", 21 * 128 * 2
    yield "dsa", "keys_token_fp8_bytes", 21 * 132
    yield "expert-parallelism", "book_paths", 992
    yield "expert-parallelism", "reduce_bytes", 2 * 7 / 8 * 7168 * 2
    yield "expert-parallelism", "exchange_bytes", 8 * 7 / 8 * 7168 * 3
    yield "alignment", "wasted", 0.75
    yield "prefill-amplification", "book_factor", 10.0
    yield "attention", "gqa_bytes", 36 * 8 * 128 * 2 * 2
    yield "moe", "touched_1", 8 / 256
    yield "expert-parallelism", "one_expert_bytes", 88_080_384
    yield "expert-parallelism", "token_expert_ratio", 88_080_384 / 14_336
    yield "expert-parallelism", "book_whole", 8
    yield "expert-parallelism", "book_copies_share", 0.125
    yield "attention", "book_mha_bytes", 393_216
    yield "attention", "book_gqa_bytes", 98_304
    yield "attention", "book_mqa_bytes", 12_288
    yield "attention", "book_mha_users", 8
    yield "attention", "book_gqa_users", 35
    yield "attention", "book_two_users", 79
    yield "attention", "book_mqa_users", 283


@pytest.mark.parametrize(("topic", "name", "value"), list(_bullets()))
def test_figures_by_hand(topic: str, name: str, value: float) -> None:
    assert report(topic).figures[name] == pytest.approx(value)


def test_sharing_picks_saves_two_to_three_times_at_a_million_tokens() -> None:
    figures = report("dsa").figures
    assert figures["context"] == 1_048_576
    assert 2.4 < float(figures["saved"]) < 3.1, "the publisher counts 2.9"


def test_the_reader_names_model_and_gpu() -> None:
    usual, other = report("mla"), report("mla", model="moonshotai/Kimi-K2.5", gpu="8xb200")
    assert other.model == "moonshotai/Kimi-K2.5"
    assert other.figures["heads"] != usual.figures["heads"]


def test_a_model_without_such_layers_is_said() -> None:
    made = report("mla", model="Qwen/Qwen3-8B", gpu="1xh100")
    assert made.note is not None
    assert made.model == topics()["mla"]["model"]


def test_a_changed_config_changes_the_page() -> None:
    base = find("deepseek-ai/DeepSeek-V3")
    assert base is not None
    narrow = msgspec.structs.replace(base, config={**base.config, "kv_lora_rank": 256})
    made = api.explain("mla", model=narrow)
    assert isinstance(made, ExplainReport)
    assert made.figures["token_bytes"] == 61 * (256 + 64) * 2


def test_an_unknown_topic_gets_suggestions() -> None:
    with pytest.raises(UserError) as caught:
        api.explain("atention")
    assert "attention" in str(caught.value.fix and caught.value.fix.values)


def test_texts_use_the_glossary() -> None:
    for term in glossary():
        for topic in topics():
            korean = topic_text(topic, "ko")
            for wrong in term.avoid:
                assert wrong not in korean, f"{topic}: write {term.ko}, not {wrong}"


def test_glossary_terms_are_used_or_known() -> None:
    words = " ".join(topic_text(topic, "ko") for topic in topics())
    assert sum(term.ko in words for term in glossary()) > 0.6 * len(glossary())


def test_fp4_and_fp8_grids() -> None:
    assert [e2m1(x) for x in FP4_GRID] == list(FP4_GRID)
    assert e2m1(100) == 6
    assert e2m1(-2.4) == -2
    assert e4m3(448) == e4m3(1000) == E4M3_MAX
    assert e4m3(0.45) == 0.4375
    block = [0.1, -6.0, 3.0, 0.0]
    assert nvfp4(block).scale == 1
    assert mxfp4(block).values[1] == -6


@pytest.mark.parametrize(("model", "gpu"), [("deepseek-ai/DeepSeek-V3.2", "8xh200"), ("Qwen/Qwen3-8B", "1xh100"), ("openai/gpt-oss-120b", "2xb200")])
def test_figures_of_one_page_fit_together(model: str, gpu: str) -> None:
    def figures(topic: str) -> dict[str, float]:
        return {name: float(value) for name, value in report(topic, model=model, gpu=gpu).figures.items() if isinstance(value, (int, float))}

    page = figures("alignment")
    assert page["block_bytes"] == pytest.approx(page["block"] * page["token_bytes"])
    assert page["half_bytes"] == pytest.approx(page["block_bytes"] / 2)
    assert page["own_wasted"] == pytest.approx(1 - page["quarter"] / page["block"])
    assert page["chunk"] % page["block"] == 0
    phases = figures("prefill-decode")
    assert phases["flops"] == 2 * phases["active"]
    assert phases["prefill_per_token"] * phases["tokens"] == pytest.approx(phases["prefill_s"])
    assert phases["ratio"] == pytest.approx(phases["step_s"] / phases["prefill_per_token"])
    assert phases["ridge"] == pytest.approx(phases["pflops"] / phases["bandwidth"] * 1000)
    chunks = figures("chunked-prefill")
    assert (chunks["steps"] - 1) * chunks["budget"] < chunks["tokens"] <= chunks["steps"] * chunks["budget"]
    assert chunks["stall"] == pytest.approx(chunks["whole_s"] / chunks["step_s"])
    assert chunks["stall_chunk"] == pytest.approx(chunks["chunk_s"] / chunks["step_s"])
    moved = figures("disaggregation")
    assert moved["move_s"] == pytest.approx(moved["bytes"] / moved["network"] / 1e9)
