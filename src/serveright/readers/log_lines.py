"""The known log lines of both engines, as data: `facts/logs/*.toml`."""

import re
from functools import cache

import msgspec
from msgspec import Struct

from serveright.catalog.files import FACTS, read_toml

FILES = ("vllm", "sglang", "common")


class KnownLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message. `texts`: stretches that stand in the line as they are; `pattern` must match beside them, `numbers` are read where they match."""

    key: str
    texts: tuple[str, ...]
    sources: tuple[str, ...]
    pattern: str | None = None
    numbers: tuple[str, ...] = ()
    fact: bool = False
    """States a figure or a choice; speaks for no cause by itself."""


class Needle(Struct, frozen=True, kw_only=True):
    """One text to look for, ready for bytes."""

    text: bytes
    line: KnownLine
    engine: str
    pattern: re.Pattern[str] | None
    numbers: tuple[re.Pattern[str], ...]
    anchor: bytes | None
    """A word that stands between blanks wherever the text stands: a set of words tells quickly that a text is not there."""


def _anchor(text: str) -> bytes | None:
    return max((word.encode() for word in text.split()[1:-1]), key=len, default=None)


@cache
def known_lines() -> dict[str, tuple[KnownLine, ...]]:
    """Lines by file: `vllm`, `sglang`, and `common` (libraries below both)."""
    return {name: msgspec.convert(read_toml(FACTS / "logs" / f"{name}.toml")["line"], tuple[KnownLine, ...]) for name in FILES}


@cache
def needles() -> tuple[Needle, ...]:
    """Every text of every known line."""
    return tuple(
        Needle(
            text=text.encode(),
            line=line,
            engine=engine,
            pattern=re.compile(line.pattern) if line.pattern else None,
            numbers=tuple(re.compile(number) for number in line.numbers),
            anchor=_anchor(text),
        )
        for engine, lines in known_lines().items()
        for line in lines
        for text in line.texts
    )


@cache
def facts_alone() -> frozenset[str]:
    """Keys of signs that state a figure or a choice only; they say nothing where a person quotes them."""
    return frozenset(f"log:{line.key}" for lines in known_lines().values() for line in lines if line.fact)
