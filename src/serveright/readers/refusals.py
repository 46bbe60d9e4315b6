"""What an engine's own checks say when they refuse, as data: `facts/logs/refusals.json.gz` (made by `tools.harvest.refusals` from released wheels)."""

import gzip
from functools import cache

import msgspec
from msgspec import Struct

from serveright.catalog.files import FACTS


class Refusal(Struct, frozen=True, array_like=True):
    """One message: `text` stands in it as it is, `module` raises it, in the releases from `first` to `last` that were read."""

    topic: str
    text: str
    module: str
    first: str
    last: str


class _File(Struct, frozen=True):
    read: str
    engines: dict[str, tuple[Refusal, ...]]


@cache
def refusals() -> dict[str, tuple[Refusal, ...]]:
    """Messages by engine, longest first: the first that is found in a line is the best."""
    found = msgspec.json.decode(gzip.decompress((FACTS / "logs" / "refusals.json.gz").read_bytes()), type=_File).engines
    return {engine: tuple(sorted(rows, key=lambda row: -len(row.text))) for engine, rows in found.items()}


def refusal(line: str, engine: str | None) -> Refusal | None:
    """The refusal a line states; both engines are asked where it is not known which one speaks."""
    rows = (row for name, rows in refusals().items() if engine in (None, name) for row in rows)
    return max((row for row in rows if row.text in line), key=lambda row: len(row.text), default=None)
