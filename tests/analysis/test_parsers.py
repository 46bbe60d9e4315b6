"""Parsers by template, catalogue and architecture, in that order; and the template's switch for thinking with its default."""

from typing import Any

import pytest

from serveright.analysis.parsers import choose_parsers, matching
from serveright.types.engine_table import EngineTable
from serveright.types.parsers import ArchitectureParsers, Dialect, Equivalent, Names, ParserChoice, ParserFacts
from tests.analysis.performance import dense

TABLE = EngineTable(engine="vllm", version="0.9.0", tool_parsers=("tags", "words"), reasoning_parsers=("tags",))
FACTS = ParserFacts(
    dialects=(
        Dialect(name="tags", source="", all=("<call>", "</call>"), none=("<other>",), tool=Names(vllm="tags", sglang="tags_sg")),
        Dialect(name="either", source="", any=("[CALL]", "[TOOL]"), tool=Names(vllm="words")),
        Dialect(name="shape", source="", pattern=r"think\d", reasoning=Names(vllm="tags")),
        Dialect(name="new", source="", all=("{new}",), tool=Names(vllm="too_new")),
    ),
    architectures=(ArchitectureParsers(architectures=("dense",), source="", tool=Names(vllm="words"), also_tool=("tags",), encoded_in_code=True),),
    equivalent=(Equivalent(names=("tags", "tags_2"), source=""), Equivalent(names=("words", "words_2"), source="", since="0.10.0")),
)


def choose(template: str | None = None, catalogue: dict[str, Any] | None = None, table: EngineTable = TABLE, *, known: bool = False) -> ParserChoice:
    return choose_parsers(dense() if known else None, template, catalogue or {}, table, FACTS)


@pytest.mark.parametrize(
    ("template", "spoken"),
    [
        ("<call> </call>", ["tags"]),
        ("<call>", []),
        ("<call> </call> <other>", []),
        ("a [TOOL]", ["either"]),
        ("[CALL] <call> </call> think3", ["tags", "either", "shape"]),
        ("think", []),
    ],
)
def test_a_dialect_is_all_of_its_marks_one_of_some_and_none_of_others(template: str, spoken: list[str]) -> None:
    assert [dialect.name for dialect in matching(FACTS.dialects, template)] == spoken


def test_the_template_decides_before_catalogue_and_architecture() -> None:
    catalogue = {"parsers": {"vllm": {"tool": "words"}}}
    told = choose("<call> </call>", catalogue, known=True)
    assert (told.tool, told.sure, told.evidence[0].path) == ("tags", True, "chat_template")
    assert told.accepted_tool == ("tags", "tags_2")
    listed = choose("plain", catalogue, known=True)
    assert (listed.tool, listed.sure, listed.evidence[0].path) == ("words", True, "facts.parsers.vllm.tool")
    assert choose(catalogue={"parsers": {"sglang": {"tool": "words"}}}).tool is None
    by_class = choose(known=True)
    assert (by_class.tool, by_class.sure, by_class.accepted_tool) == ("words", False, ("words", "tags", "tags_2"))
    assert choose().tool is None


def test_a_name_the_version_does_not_register_is_only_accepted() -> None:
    new = choose("{new}")
    assert (new.tool, new.accepted_tool) == (None, ("too_new",))
    assert choose("{new}", table=EngineTable(engine="vllm", version="0.9.0")).tool == "too_new"


def test_names_are_one_parser_from_a_version_on() -> None:
    assert choose("[CALL]").accepted_tool == ("words",)
    assert choose("[CALL]", table=EngineTable(engine="vllm", version="0.10.0")).accepted_tool == ("words", "words_2")


def test_a_reasoning_parser_is_sure_only_where_this_checkpoint_is_known_to_think() -> None:
    named = {"parsers": {"vllm": {"reasoning": "tags"}}}
    assert choose("think1").reasoning_sure
    assert choose(catalogue=named).reasoning == "tags"
    assert not choose(catalogue=named).reasoning_sure
    assert choose(catalogue={**named, "recipe": {"reasoning_args": ["--reasoning-parser", "tags"]}}).reasoning_sure
    assert choose(catalogue={**named, "thinks": {"unasked": True}}).reasoning_sure


def test_a_prompt_built_in_code_counts_where_no_template_replaces_it() -> None:
    assert choose(known=True).encoded_in_code
    assert not choose("plain", known=True).encoded_in_code


SWITCH = "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- if CONDITION %}{{ '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"


@pytest.mark.parametrize(
    ("condition", "default"),
    [
        ("enable_thinking is defined and enable_thinking is false", True),
        ("enable_thinking is defined and not enable_thinking", True),
        ("enable_thinking is not defined or enable_thinking", True),
        ("not (enable_thinking | default(true))", True),
        ("enable_thinking is defined and enable_thinking is true %}{%- elif x", False),
        ("enable_thinking | default(false)", False),
        ("enable_thinking == other", None),
    ],
)
def test_the_switch_and_what_it_is_when_nobody_sets_it(condition: str, default: bool | None) -> None:
    for name in ("enable_thinking", "thinking"):
        template = SWITCH.replace("CONDITION", condition.replace("enable_thinking", name))
        chosen = choose(template)
        assert (chosen.toggle, chosen.toggle_default) == (name, default)


def test_no_switch_where_the_template_has_none() -> None:
    assert choose("enable_x").toggle is None
    assert choose("{{ '<think>' }}").toggle is None
    assert choose().toggle_default is None


def test_thinking_without_being_asked() -> None:
    opens = "{% if add_generation_prompt %}{{ '<|assistant|><think>' }}{% endif %}"
    assert choose(opens).thinks_unasked
    assert not choose("{{ '<think>' }}{% if add_generation_prompt %}{{ 'assistant' }}{% endif %}").thinks_unasked
    assert not choose(opens + "{% set thinking = false %}").thinks_unasked
    assert choose(catalogue={"thinks": {"unasked": True}}).thinks_unasked
    assert not choose("plain", {"thinks": {"unasked": True}}).thinks_unasked


def test_an_old_name_is_written_as_the_version_calls_it_today() -> None:
    facts = ParserFacts(dialects=FACTS.dialects, architectures=(), equivalent=(Equivalent(names=("tags", "marks"), source="", engine="vllm", current="marks"),))
    for registered, written in ((("tags", "marks"), "marks"), (("tags",), "tags"), ((), "tags")):
        table = EngineTable(engine="vllm", version="0.9.0", tool_parsers=registered)
        told = choose_parsers(None, "<call> </call>", {}, table, facts)
        assert (told.tool, told.accepted_tool) == (written, ("tags", "marks"))
