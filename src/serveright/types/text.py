"""Messages that no layer but `outputs` turns into prose: an English template and the values to put in."""

from msgspec import Struct


class Msg(Struct, frozen=True):
    """A sentence in waiting. `template` is a literal English text with `{name}` or `{name:spec}` fields.

    Specs that `outputs.language` knows beside Python's own: `gib` (bytes), `n` (thousands separated), `s` (seconds), `pct` (a share).
    Korean stands under the same template in `locale/ko/*.po`.
    """

    template: str
    values: "dict[str, Value]" = {}

    def __str__(self) -> str:
        """English without number formats, for exceptions and debugging only."""
        return self.template


Value = str | int | float | Msg | None


def msg(template: str, /, **values: "Value") -> Msg:
    """`msg("{n} layers", n=3)`; the template must be a literal, so that it can be extracted for translation."""
    return Msg(template, values)
