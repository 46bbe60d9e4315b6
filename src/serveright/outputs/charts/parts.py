"""What all pictures share: a palette that colour-blind readers can tell apart, axes with units, and the frame of a specification.

Texts inside a specification may be `Msg`; `outputs.draw.ready` puts the reader's language in. Width and theme are the drawer's business.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from serveright.types.curves import Line
from serveright.types.document import Cell, Chart
from serveright.types.text import Msg, msg

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#7F7F7F", "#994F00")
"""Okabe and Ito (2008), yellow darkened so that it holds on white; grey and brown behind them."""
GIB = 2**30

PARTS: dict[str, Msg] = {
    "dense": msg("dense weights"),
    "experts": msg("experts"),
    "cache": msg("KV cache"),
    "messages": msg("messages"),
    "kernels": msg("small kernels"),
    "host": msg("host"),
    "draft": msg("drafting"),
    "prefill": msg("others' prefill"),
}

Encoding = dict[str, Any]


def chart(name: str, title: Cell, alternative: Cell, spec: Mapping[str, Any]) -> Chart:
    """A picture with its name (for files), its title and what stands for it where nothing can be drawn."""
    return Chart(spec={"$schema": "https://vega.github.io/schema/vega-lite/v6.json", **spec}, alternative=alternative, name=name, title=title)


def amount(field: str, title: Cell, *, log: bool = False, base: int = 10, **axis: Any) -> Encoding:
    """A quantitative axis; its title names the unit."""
    scale: dict[str, Any] = {"type": "log", "base": base, "nice": False} if log else {"zero": True}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": {"title": title, "format": ",~r", **axis}}


def tokens(field: str, title: Cell) -> Encoding:
    """Token counts on a log axis, powers of two, written 4k, 128k, 1M as the field does."""
    words = "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + 'M' : datum.value >= 1024 ? format(datum.value / 1024, '~g') + 'k' : format(datum.value, '~g')"
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"title": title, "labelExpr": words, "tickCount": 8},
    }


def colour(field: str, order: Sequence[Cell], title: Cell | None = None) -> Encoding:
    """A categorical colour in fixed order, its legend below, where it takes no width."""
    legend = {"title": title, "orient": "bottom", "columns": 3, "labelLimit": 260}
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(order), "range": [PALETTE[i % len(PALETTE)] for i in range(len(order))]},
        "legend": legend,
    }


def points(lines: Iterable[Line], x: str, y: str, factor: float = 1.0) -> list[dict[str, Any]]:
    """Rows of all lines, named columns."""
    return [{"line": line.name, x: a, y: b * factor, "dashed": line.dashed} for line in lines for a, b in zip(line.x, line.y, strict=True) if b > 0]


def line_mark(lines: Sequence[Line], x: Encoding, y: Encoding, tooltip: Sequence[tuple[str, Cell]]) -> dict[str, Any]:
    """Lines told apart by colour and by the shape of their points, references dashed."""
    names = [line.name for line in lines]
    shape = {"field": "line", "type": "nominal", "scale": {"domain": names}, "legend": None}
    dash = {"field": "dashed", "type": "nominal", "scale": {"domain": [False, True], "range": [[1, 0], [5, 4]]}, "legend": None}
    tips = [{"field": "line", "title": msg("line")}, *({"field": field, "title": title, "type": "quantitative", "format": ",.4~r"} for field, title in tooltip)]
    common = {"x": x, "y": y, "color": colour("line", names)}
    return {
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {**common, "strokeDash": dash}},
            {"mark": {"type": "point", "filled": True, "size": 45}, "encoding": {**common, "shape": shape, "tooltip": tips}},
        ]
    }
