"""Time per output token against concurrency for the layouts that win somewhere; rules mark where the plan's ranking (by its own objective) changes."""

from collections.abc import Sequence
from typing import Any

from serveright.outputs.charts.parts import PALETTE, Encoding, amount, chart, line_mark, points
from serveright.types.curves import Line
from serveright.types.design import Flip
from serveright.types.document import Chart
from serveright.types.text import msg


def _band(line: Line, x: Encoding, y: Encoding) -> dict[str, Any]:
    rows = [{"concurrency": at, "tpot_ms": low * 1e3, "high_ms": high * 1e3} for at, low, high in zip(line.x, line.low, line.high, strict=True)]
    mark = {"type": "area", "opacity": 0.18, "color": PALETTE[0]}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y, "y2": {"field": "high_ms"}}}


def tpot(lines: Sequence[Line], flips: Sequence[Flip]) -> Chart:
    """`lines` are seconds per output token over requests at once, the first the chosen layout, its range drawn as a band."""
    x = amount("concurrency", msg("requests at once"), log=True, base=2, tickCount=8)
    y = amount("tpot_ms", msg("time per output token, ms"), log=True, tickCount=6)
    rows = points(lines, "concurrency", "tpot_ms", 1e3)
    layers = [
        {"data": {"values": rows}, **layer} for layer in line_mark(lines, x, y, (("concurrency", msg("requests at once")), ("tpot_ms", "TPOT, ms")))["layer"]
    ]
    layers[:0] = [_band(line, x, y) for line in lines[:1] if line.low]
    if flips:
        marks = [{"concurrency": flip.at_concurrency, "text": msg("ranking: {origin} → {to}", origin=flip.origin, to=flip.to)} for flip in flips]
        layers += [
            {"data": {"values": marks}, "mark": {"type": "rule", "strokeDash": [3, 3]}, "encoding": {"x": x}},
            {"data": {"values": marks}, "mark": {"type": "text", "align": "left", "dx": 4, "y": 10}, "encoding": {"x": x, "text": {"field": "text"}}},
        ]
    first = lines[0] if lines else Line(name="", x=(), y=())
    words = (
        msg(
            "{name}: {alone:.1f} ms a token alone, {crowd:.1f} ms with {n:n} requests",
            name=first.name,
            alone=first.y[0] * 1e3,
            crowd=first.y[-1] * 1e3,
            n=round(first.x[-1]),
        )
        if first.x
        else ""
    )
    return chart("tpot", msg("Time per output token against concurrency"), words, {"height": 280, "layer": layers})
