"""Expert load before and after balancing, against a perfectly even one: GPU by GPU, or the hottest GPU by number of redundant experts."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import PALETTE, amount, chart
from serveright.types.answers import ExpertBalance
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


def hottest(balance: ExpertBalance) -> Chart:
    """The hottest GPU over the mean: today, and with each number of redundant experts."""
    rows = [{"placement": msg("today"), "load": balance.hottest_gpu, "side": SIDES[0]}]
    rows += [{"placement": msg("EPLB + {n}", n=choice.redundant_experts), "load": choice.hottest_gpu, "side": SIDES[1]} for choice in balance.choices]
    x = amount("load", msg("hottest GPU over the mean, 1 is even"))
    y = {"field": "placement", "type": "nominal", "sort": [row["placement"] for row in rows], "axis": {"title": None, "ticks": False}}
    fill = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": list(SIDES), "range": [PALETTE[1], PALETTE[0]]},
        "legend": {"title": None, "orient": "bottom"},
    }
    tips = [{"field": "placement", "title": msg("placement")}, {"field": "load", "title": msg("load"), "format": ".2f"}]
    layers = [
        {"data": {"values": rows}, "mark": {"type": "bar", "height": 20}, "encoding": {"x": x, "y": y, "color": fill, "tooltip": tips}},
        {"data": {"values": [{"load": 1}]}, "mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"field": "load", "type": "quantitative"}}},
    ]
    best = min((choice.hottest_gpu for choice in balance.choices), default=balance.hottest_gpu)
    words = msg("the hottest GPU carries {before:.2f} of the mean before, {after:.2f} after", before=balance.hottest_gpu, after=best)
    return chart("experts", msg("Expert load before and after balancing"), words, {"height": {"step": 34}, "layer": layers})
