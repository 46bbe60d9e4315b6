"""One grammar for both engines: what argparse reads, and parse and emit as inverses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis.given import Given
from serveright.readers.grammar import Grammar, Parsed
from serveright.types.command import GivenFlag, LaunchCommand, Word
from serveright.types.report import Location
from tests.readers.tables import SGLANG, VLLM

HERE = Location("-", 1, 1)


def parse(text: list[str], table=VLLM) -> Parsed:
    return Grammar(table).parse(Word(word, HERE) for word in text)


def said(parsed: Parsed) -> list[tuple[str, str | None, str | None]]:
    return [(flag.written, flag.name, flag.value) for flag in parsed.flags]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["-tp", "8"], "--tensor-parallel-size", "8"),
        (["-tp=8"], "--tensor-parallel-size", "8"),
        (["--tensor_parallel_size", "8"], "--tensor-parallel-size", "8"),
        (["--tensor-parallel=8"], "--tensor-parallel-size", "8"),
        (["--max-model-len", "-1"], "--max-model-len", "-1"),
        (["--no-enforce-eager"], "--enforce-eager", "false"),
        (["--disable-prefix-caching"], "--enable-prefix-caching", "false"),
        (["-O3"], "--optimization-level", "3"),
        (["-O=2"], "--optimization-level", "2"),
        (["--speculative-config.method", "mtp"], "--speculative-config", "mtp"),
        (["-sc.method=mtp"], "--speculative-config", "mtp"),
        (["--lora-modules", "a=b", "c=d"], "--lora-modules", "a=b c=d"),
        (["--limit-mm-per-prompt", '{"image": 2}'], "--limit-mm-per-prompt", '{"image": 2}'),
    ],
)
def test_vllm_spellings(words: list[str], name: str, value: str) -> None:
    [flag] = parse(words).flags
    assert (flag.name, flag.value) == (name, value)


def test_sglang_takes_no_underscores_and_no_dotted_keys() -> None:
    assert parse(["--tp_size", "8"], SGLANG).flags[0].name is None
    assert parse(["--tp", "8"], SGLANG).flags[0].name == "--tp-size"
    assert parse(["--tp-size.x", "8"], SGLANG).flags[0].name is None


def test_ambiguous_abbreviations_are_told() -> None:
    grammar = Grammar(SGLANG)
    assert grammar.find("--cuda-graph-max-bs") is None
    assert grammar.ambiguous("--cuda-graph-max-bs") == ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")


def test_positionals_and_unknown_flags() -> None:
    parsed = parse(["org/model", "--made-up", "7", "--enable-something", "other/model"])
    assert [word.text for word in parsed.positionals] == ["org/model", "other/model"]
    assert said(parsed) == [("--made-up", None, "7"), ("--enable-something", None, None)]


def test_dotted_and_whole_json_merge() -> None:
    parsed = parse(["--speculative-config", '{"method": "mtp", "a": {"b": 1}}', "--speculative-config.a.c", "2", "--compilation-config.sizes+", "1,2"])
    command = LaunchCommand(
        engine="vllm", engine_version=None, version_source=None, model=None, model_location=None, flags=parsed.flags, words=(), env={}, location=HERE
    )
    given_ = Given(command, VLLM)
    assert given_.json("--speculative-config") == {"method": "mtp", "a": {"b": 1, "c": 2}}
    assert given_.json("--compilation-config") == {"sizes": ["1", "2"]}
    assert given_.speculation == ("mtp", 0)


VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), max_size=12)
PLAIN = [flag for flag in VLLM.flags if not flag.switch and not flag.repeatable]


@st.composite
def flag(draw: st.DrawFn) -> GivenFlag:
    kind = draw(st.sampled_from(["plain", "switch", "negative", "many", "dotted", "unknown", "level"]))
    if kind == "switch":
        return GivenFlag(written="--enforce-eager", name="--enforce-eager", value=None, location=HERE)
    if kind == "negative":
        return GivenFlag(written="--no-enable-prefix-caching", name="--enable-prefix-caching", value="false", location=HERE)
    if kind == "many":
        items = draw(st.lists(st.from_regex(r"[a-z][a-z0-9=]{0,6}", fullmatch=True), min_size=1, max_size=3))
        return GivenFlag(written="--lora-modules", name="--lora-modules", value=" ".join(items), location=HERE)
    if kind == "dotted":
        key = draw(st.from_regex(r"[a-z_]{1,8}(\.[a-z_]{1,8})?", fullmatch=True))
        return GivenFlag(written=f"--compilation-config.{key}", name="--compilation-config", value=draw(VALUES), location=HERE)
    if kind == "unknown":
        return GivenFlag(written="--made-up", name=None, value=draw(VALUES | st.none()), location=HERE)
    if kind == "level":
        return GivenFlag(written="-O", name="--optimization-level", value=draw(st.sampled_from("0123")), location=HERE)
    known = draw(st.sampled_from(PLAIN))
    written = draw(st.sampled_from([known.name, *known.aliases]))
    return GivenFlag(written=written, name=known.name, value=draw(VALUES), location=HERE)


@given(st.lists(flag(), max_size=6))
def test_emit_then_parse_gives_the_flags_back(flags: list[GivenFlag]) -> None:
    grammar = Grammar(VLLM)
    words = grammar.emit(flags)
    again = grammar.parse(Word(word, HERE) for word in words)
    assert said(again) == [(one.written, one.name, one.value) for one in flags]
    assert again.positionals == ()


@given(st.lists(st.one_of(st.sampled_from(["-tp", "8", "--port=1", "-O3", "--enforce-eager", "m", "--x", "-1", "--lora-modules"]), VALUES), max_size=10))
def test_parse_then_emit_keeps_the_meaning(words: list[str]) -> None:
    grammar = Grammar(VLLM)
    once = grammar.parse(Word(word, HERE) for word in words)
    twice = grammar.parse(Word(word, HERE) for word in grammar.emit(once.flags))
    assert said(twice) == said(once)
