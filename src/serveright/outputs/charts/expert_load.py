"""Load of every GPU before and after expert balancing, against a perfectly even one."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import PALETTE, amount, chart
from serveright.types.document import Chart
from serveright.types.text import msg

SIDES = (msg("before"), msg("after EPLB"))


def expert_load(before: Sequence[float], after: Sequence[float]) -> Chart:
    """Tokens each GPU's experts get, both in the same unit; shown relative to the mean, where 1 is even."""
    rows = [
        {"gpu": i, "load": load * len(loads) / (sum(loads) or 1.0), "side": side}
        for side, loads in zip(SIDES, (before, after), strict=True)
        for i, load in enumerate(loads)
    ]
    x = {"field": "gpu", "type": "ordinal", "axis": {"title": "GPU", "labelAngle": 0, "labelOverlap": True}}
    y = amount("load", msg("load of the GPU's experts, mean = 1"))
    fill = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(SIDES), "range": [PALETTE[1], PALETTE[0]]},
        "legend": {"title": None, "orient": "bottom"},
    }
    layers = [
        {"data": {"values": rows}, "mark": "bar", "encoding": {"x": x, "y": y, "xOffset": {"field": "side", "sort": list(SIDES)}, "color": fill, "tooltip": [{"field": "side", "title": msg("placement")}, {"field": "gpu", "title": "GPU"}, {"field": "load", "title": msg("load"), "format": ".2f"}]}},
        {"data": {"values": [{"load": 1}]}, "mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"field": "load", "type": "quantitative"}}},
    ]  # fmt: skip
    hot, cool = (max(loads, default=0) * len(loads) / (sum(loads) or 1.0) for loads in (before, after))
    words = msg("the hottest GPU carries {before:.2f} of the mean before, {after:.2f} after", before=hot, after=cool)
    return chart("experts", msg("Expert load by GPU"), words, {"height": 260, "layer": layers})
