"""Cache of one sequence against its length on log axes: families differ in slope, and a fixed state shows as a flat start."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import GIB, amount, chart, line_mark, points, tokens
from serveright.types.curves import Line
from serveright.types.document import Chart
from serveright.types.text import msg


def cache_growth(lines: Sequence[Line]) -> Chart:
    """`lines` are bytes of one sequence over its tokens, whole model."""
    x, y = tokens("tokens", msg("tokens of one sequence")), amount("gib", msg("GiB, whole model"), log=True, tickCount=6)
    spec = line_mark(lines, x, y, (("tokens", msg("tokens")), ("gib", "GiB")))
    longest = lines[0] if lines else Line(name="", x=(), y=())
    alternative = msg("{name}: {n:gib} at {tokens:n} tokens", name=longest.name, n=longest.y[-1], tokens=round(longest.x[-1])) if longest.x else ""
    return chart(
        "cache",
        msg("Cache of one sequence against its length"),
        alternative,
        {"height": 260, "data": {"values": points(lines, "tokens", "gib", 1 / GIB)}, **spec},
    )
