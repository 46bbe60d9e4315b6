"""A number with the formula that made it, so that a reader can redo it by hand."""

from msgspec import Struct

from serveright.types.text import Msg


class Derivation(Struct, frozen=True):
    """`formula` is a Python arithmetic expression over the names in `values` (`ceil`, `floor`, `min`, `max`, `lcm`, `round` allowed).

    A test evaluates every formula with its values and requires `result`.
    """

    name: str
    formula: str
    values: dict[str, int | float]
    result: int | float
    unit: str
    reason: Msg
    source: str = ""
