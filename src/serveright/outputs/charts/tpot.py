"""Time per output token against concurrency for the layouts that win somewhere; rules mark where the better one changes."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import amount, chart, line_mark, points
from serveright.types.curves import Line
from serveright.types.design import Flip
from serveright.types.document import Chart
from serveright.types.text import msg


def tpot(lines: Sequence[Line], flips: Sequence[Flip]) -> Chart:
    """`lines` are seconds per output token over requests at once."""
    x = amount("concurrency", msg("requests at once"), log=True, base=2, tickCount=8)
    y = amount("tpot_ms", msg("time per output token, ms"), log=True, tickCount=6)
    rows = points(lines, "concurrency", "tpot_ms", 1e3)
    layers = [
        {"data": {"values": rows}, **layer} for layer in line_mark(lines, x, y, (("concurrency", msg("requests at once")), ("tpot_ms", "TPOT, ms")))["layer"]
    ]
    if flips:
        marks = [{"concurrency": flip.at_concurrency, "text": f"{flip.origin} → {flip.to}"} for flip in flips]
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
