"""The hand-kept fact files about flags, releases and parsers, validated. Read once a process."""

from functools import cache

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.lore import Lore
from serveright.types.parsers import ParserFacts


@cache
def load_lore() -> Lore:
    """Successors of flags, dead variables, counterparts between engines, known defects."""
    flags = read_toml(FACTS / "flags.toml")
    defects = read_toml(FACTS / "defects.toml")
    return msgspec.convert({**flags, **defects}, Lore)


@cache
def load_parser_facts() -> ParserFacts:
    """Dialects of chat templates and what architectures are served with."""
    return msgspec.convert(read_toml(FACTS / "parsers.toml"), ParserFacts)
