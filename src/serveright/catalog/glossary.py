"""The terms of the texts, one word a language."""

import msgspec
from msgspec import Struct

from serveright.catalog.files import FACTS, read_toml


class Term(Struct, frozen=True, kw_only=True):
    """A term in both languages; `avoid` lists Korean spellings the texts do not use for it."""

    en: str
    ko: str
    meaning: str
    meaning_ko: str
    avoid: tuple[str, ...] = ()


def glossary() -> tuple[Term, ...]:
    """All terms of `facts/glossary.toml`."""
    return msgspec.convert(read_toml(FACTS / "glossary.toml")["term"], tuple[Term, ...])
