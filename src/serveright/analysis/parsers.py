"""Which tool-call and reasoning parser a model needs: its template decides, then the catalogue, then the architecture. Pure.

Never looks at a model's name. Knows no engine beyond the names its table lists.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec import Struct

from serveright.types.engine_table import EngineTable
from serveright.types.fact import Evidence
from serveright.types.model import ModelShape
from serveright.types.parsers import ArchitectureParsers, Dialect, Equivalent, ParserChoice, ParserFacts
from serveright.types.text import msg
from serveright.versions import at_least

_OPENS_THINK = re.compile(r"add_generation_prompt.{0,400}?<think>", re.DOTALL)
_CLOSES_THINK = re.compile(r"<think>\\?n?\\?n?</think>")
_DEFAULT_ON = r"{name}\s+is\s+(?:not\s+defined\s+or\s+{name}|defined\s+and\s+(?:{name}\s+is\s+false|not\s+{name}))|{name}\s*\|\s*d(?:efault)?\(\s*true"
_DEFAULT_OFF = r"{name}\s+is\s+defined\s+and\s+{name}(?:\s+is\s+true)?\s*%|{name}\s*\|\s*d(?:efault)?\(\s*false|set\s+{name}\s*=\s*(?:false|False)"


class _Found(Struct, frozen=True):
    name: str | None
    sure: bool
    evidence: Evidence | None
    accepted: tuple[str, ...] = ()


def choose_parsers(shape: ModelShape | None, template: str | None, catalogue: dict[str, Any], table: EngineTable, facts: ParserFacts) -> ParserChoice:
    """The parsers of one model on one engine version.

    `template` is the chat template's text where there is one; `catalogue` the model's `[facts]`. A name the version does not register is never returned:
    the choice is then None and the name stands in `accepted_*`.
    """
    entry = _architecture(shape, facts)
    tool = _choose("tool", template, catalogue, entry, table, facts)
    reasoning = _choose("reasoning", template, catalogue, entry, table, facts)
    toggle, default = _toggle(template)
    evidence = tuple(found.evidence for found in (tool, reasoning) if found.evidence is not None)
    encoded = entry is not None and entry.encoded_in_code
    return ParserChoice(
        tool=_written(tool.name, table.tool_parsers, table, facts),
        reasoning=_written(reasoning.name, table.reasoning_parsers, table, facts),
        accepted_tool=_same(tool, table, facts),
        accepted_reasoning=_same(reasoning, table, facts),
        sure=tool.sure or reasoning.sure,
        reasoning_sure=reasoning.evidence is not None and (reasoning.evidence.path == "chat_template" or _recipe_thinks(catalogue) or _thinks(catalogue)),
        evidence=evidence,
        encoded_in_code=encoded and template is None,
        tokenizer_mode=entry.tokenizer_mode if entry is not None and table.engine == "vllm" else None,
        thinks_unasked=_OPENS_THINK.search(template) is not None and default is not False if template is not None else _thinks(catalogue),
        toggle=toggle,
        toggle_default=default,
    )


def matching(dialects: Iterable[Dialect], template: str) -> list[Dialect]:
    """The dialects a template speaks, in the table's order."""
    return [dialect for dialect in dialects if _speaks(dialect, template)]


def _speaks(dialect: Dialect, template: str) -> bool:
    if not all(mark in template for mark in dialect.all) or any(mark in template for mark in dialect.none):
        return False
    if dialect.any and not any(mark in template for mark in dialect.any):
        return False
    return dialect.pattern is None or re.search(dialect.pattern, template) is not None


def _choose(kind: str, template: str | None, catalogue: dict[str, Any], entry: ArchitectureParsers | None, table: EngineTable, facts: ParserFacts) -> _Found:
    if template:
        for dialect in matching(facts.dialects, template):
            names = dialect.tool if kind == "tool" else dialect.reasoning
            name = names.of(table.engine) if names else None
            if name:
                meaning = msg("the template speaks the {dialect} dialect", dialect=dialect.name)
                return _Found(name, True, Evidence("chat_template", dialect.all or dialect.any or dialect.pattern or "", meaning))
    listed = _catalogued(catalogue, table.engine, kind)
    if listed:
        return _Found(listed, True, Evidence(f"facts.parsers.{table.engine}.{kind}", listed, msg("the catalogue's entry for this model"), "assumed"))
    if entry is None:
        return _Found(None, False, None)
    names = entry.tool if kind == "tool" else entry.reasoning
    name = names.of(table.engine) if names else None
    also = entry.also_tool if kind == "tool" else entry.also_reasoning
    if name is None and not also:
        return _Found(None, False, None)
    meaning = msg("what this architecture is served with; no chat template was there to look at")
    return _Found(name, entry.sure and not also, Evidence("architectures", entry.architectures[0], meaning, "assumed"), also)


def _catalogued(catalogue: dict[str, Any], engine: str, kind: str) -> str | None:
    parsers = catalogue.get("parsers")
    names = cast("dict[str, Any]", parsers).get(engine) if isinstance(parsers, dict) else None
    value = cast("dict[str, Any]", names).get(kind) if isinstance(names, dict) else None
    return value if isinstance(value, str) else None


def _recipe_thinks(catalogue: dict[str, Any]) -> bool:
    """Whether the published recipe serves this very checkpoint with a reasoning parser; a family's parser alone says nothing about its instruct models."""
    recipe = catalogue.get("recipe")
    return isinstance(recipe, dict) and bool(cast("dict[str, Any]", recipe).get("reasoning_args"))


def _thinks(catalogue: dict[str, Any]) -> bool:
    """Whether the catalogue says, with a source, that this checkpoint thinks without being asked to."""
    thinks = catalogue.get("thinks")
    return isinstance(thinks, dict) and cast("dict[str, Any]", thinks).get("unasked") is True


def _architecture(shape: ModelShape | None, facts: ParserFacts) -> ArchitectureParsers | None:
    if shape is None:
        return None
    return next((entry for entry in facts.architectures if shape.architecture in entry.architectures), None)


def _written(name: str | None, known: Sequence[str], table: EngineTable, facts: ParserFacts) -> str | None:
    """The name this version writes today; None where it registers none of that name."""
    for group in facts.equivalent:
        if group.current in known and name in group.names and _applies(group, table):
            return group.current
    return name if name in known or not known else None


def _applies(group: Equivalent, table: EngineTable) -> bool:
    return group.engine in (None, table.engine) and (group.since is None or at_least(table.version, group.since))


def _same(found: _Found, table: EngineTable, facts: ParserFacts) -> tuple[str, ...]:
    """The chosen name and every name that is the same parser on this version."""
    names = [name for name in (found.name, *found.accepted) if name]
    for group in facts.equivalent:
        if _applies(group, table) and any(name in group.names for name in names):
            names.extend(name for name in group.names if name not in names)
    return tuple(names)


def _toggle(template: str | None) -> tuple[str | None, bool | None]:
    """The template's switch for thinking and its default, None where it cannot be told."""
    if not template or "think" not in template:
        return None, None
    for name in ("enable_thinking", "thinking"):
        if re.search(rf"\b{name}\b", template):
            if re.search(_DEFAULT_ON.replace("{name}", name), template):
                return name, True
            return name, False if re.search(_DEFAULT_OFF.replace("{name}", name), template) else None
    return None, None
