"""How many requests fit at once against their length, an engine a line."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import amount, chart, line_mark, points, tokens
from serveright.types.curves import Line
from serveright.types.document import Chart
from serveright.types.text import msg


def users(lines: Sequence[Line], asked_tokens: int | None = None) -> Chart:
    """`lines` are requests at once over tokens of each; a rule marks the length that was asked for."""
    x, y = tokens("tokens", msg("tokens of each request")), amount("users", msg("requests at once"), log=True, tickCount=6)
    spec = line_mark(lines, x, y, (("tokens", msg("tokens")), ("users", msg("requests at once"))))
    data = {"values": points(lines, "tokens", "users")}
    layers = [{"data": data, **layer} for layer in spec["layer"]]
    if asked_tokens:
        layers.append({"data": {"values": [{"tokens": asked_tokens}]}, "mark": {"type": "rule", "strokeDash": [3, 3], "opacity": 0.7}, "encoding": {"x": x}})
    first = lines[0] if lines else Line(name="", x=(), y=())
    alternative = msg("{name}: {low:.1f} requests of {tokens:n} tokens", name=first.name, low=first.y[-1], tokens=round(first.x[-1])) if first.x else ""
    return chart("users", msg("Requests at once against their length"), alternative, {"height": 260, "layer": layers})
