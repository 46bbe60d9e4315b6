"""A report as blocks, free of language and format: each verb's view makes one, each format renders it."""

from typing import Any, Literal

from msgspec import Struct

from serveright.types.derivation import Derivation
from serveright.types.text import Msg

Cell = Msg | str
Style = Literal["plain", "good", "warn", "bad", "dim", "strong"]


class Heading(Struct, frozen=True, tag="heading"):
    """`level` 1 is the report's title."""

    text: Cell
    level: int = 2


class Paragraph(Struct, frozen=True, tag="paragraph"):
    """One sentence or more. Styles carry a word of their own where they matter; colour only repeats it."""

    text: Cell
    style: Style = "plain"


class Bullets(Struct, frozen=True, tag="bullets"):
    """Short items. `sources`, one an item, are shown with `--explain` and where there is room."""

    items: tuple[Cell, ...]
    sources: tuple[str, ...] = ()


class Pairs(Struct, frozen=True, tag="pairs"):
    """Label and value, one a line."""

    items: tuple[tuple[Cell, Cell], ...]


class Table(Struct, frozen=True, tag="table"):
    """`right` holds the indices of right-aligned columns; `wide` the columns that may wrap on a narrow terminal."""

    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: tuple[int, ...] = ()
    wide: tuple[int, ...] = ()


class Code(Struct, frozen=True, tag="code"):
    """Text to copy as it stands."""

    text: str
    language: str = "sh"
    title: Cell | None = None


class Derivations(Struct, frozen=True, tag="derivations"):
    """How numbers came about; shown with `--explain`, always in JSON."""

    items: tuple[Derivation, ...]


class Chart(Struct, frozen=True, tag="chart"):
    """A Vega-Lite specification, texts in it may be `Msg`; where it cannot be drawn `alternative` stands (a terminal leaves it out). `name` tells pictures of one report apart."""

    spec: dict[str, Any]
    alternative: Cell
    name: str = ""
    title: Cell = ""


Block = Heading | Paragraph | Bullets | Pairs | Table | Code | Derivations | Chart


class Document(Struct, frozen=True, kw_only=True):
    """A whole report."""

    title: Cell
    blocks: tuple[Block, ...]
