"""What a view is asked and what it answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from serveright.errors import UserError
from serveright.types.document import Cell, Document
from serveright.web.state import Store, address

ENDINGS = ("json", "md", "html", "svg", "png", "csv")


class Visit(Struct, frozen=True, kw_only=True):
    """One GET. `rest` is the path behind the view's name, without the ending that asks for another format."""

    view: str
    rest: str
    ending: str
    query: Mapping[str, Sequence[str]]
    lang: str
    store: Store
    allow_hub: bool = False

    def first(self, name: str) -> str:
        """The first value of a key, "" where there is none."""
        values = self.query.get(name, ())
        return values[0].strip() if values else ""

    def all(self, name: str) -> list[str]:
        """All values of a key that say something; one value may hold several, a line each."""
        return [part.strip() for value in self.query.get(name, ()) for part in value.splitlines() if part.strip()]

    def texts(self) -> dict[str, str]:
        """The pasted texts of a path `~digest`. Raises InputError."""
        return self.store.get(self.rest[1:], self.first("z") or None)

    def address(self, rest: str | None = None, ending: str = "", **changed: str) -> str:
        """This address with another path, ending or values; several values of one key stay."""
        pairs = [(k, v) for k, values in self.query.items() if k not in changed for v in values]
        path = "/".join(part for part in (self.view, self.rest if rest is None else rest) if part)
        return address(f"/{path}{'.' + ending if ending else ''}", [*pairs, *changed.items()])


class Shown(Struct, frozen=True, kw_only=True):
    """A page. `document` is the report as blocks, `report` the same as data; a page without them has no other formats."""

    title: Cell
    template: str
    context: dict[str, Any] = {}
    document: Document | None = None
    report: object = None
    error: UserError | None = None


class Moved(Struct, frozen=True):
    """The same question at its proper address."""

    to: str
