"""The roofline of one decode step: what each part reaches against what memory and arithmetic of the GPU allow."""

from serveright.outputs.charts.parts import PARTS, amount, chart, colour
from serveright.types.curves import Roof
from serveright.types.document import Chart
from serveright.types.text import Msg, msg


def roofline(roof: Roof) -> Chart:
    """FLOPs per byte across, FLOP/s upwards, both log; left of the ridge memory bounds, right of it arithmetic. Size of a point: its share of the step."""
    ridge = roof.peak_flop_per_s / roof.bandwidth_bytes_per_s
    low = min([part.intensity for part in roof.parts] + [1.0]) / 2
    high = max([part.intensity for part in roof.parts] + [ridge]) * 4
    limit = [{"intensity": at, "tflops": min(roof.peak_flop_per_s, at * roof.bandwidth_bytes_per_s) / 1e12} for at in (low, ridge, high)]
    total = sum(part.seconds for part in roof.parts) or 1.0
    names = [PARTS.get(part.name, Msg(part.name)) for part in roof.parts]
    rows = [
        {"part": name, "intensity": p.intensity, "tflops": p.flop_per_s / 1e12, "share": p.seconds / total, "us": p.seconds * 1e6}
        for name, p in zip(names, roof.parts, strict=True)
    ]
    x, y = amount("intensity", msg("FLOPs per byte read"), log=True), amount("tflops", msg("TFLOP/s of one GPU"), log=True)
    tips = [
        {"field": "part", "title": msg("part")},
        {"field": "intensity", "title": msg("FLOPs per byte"), "format": ",.3~r"},
        {"field": "tflops", "title": "TFLOP/s", "format": ",.3~r"},
        {"field": "us", "title": msg("microseconds of a step"), "format": ",.0f"},
    ]
    size = {"field": "share", "type": "quantitative", "scale": {"range": [60, 500]}, "legend": None}
    layers = [
        {"data": {"values": limit}, "mark": {"type": "line", "strokeWidth": 2.5, "color": "#7F7F7F"}, "encoding": {"x": x, "y": y}},
        {
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "opacity": 0.9},
            "encoding": {"x": x, "y": y, "color": colour("part", names), "size": size, "tooltip": tips},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", "align": "left", "dx": 12, "dy": 4},
            "encoding": {"x": x, "y": y, "text": {"field": "part"}},
        },
    ]
    words = msg("memory bounds every part left of {ridge:.0f} FLOPs a byte, arithmetic those to the right", ridge=ridge)
    return chart("roofline", msg("Roofline of one decode step"), words, {"height": 280, "layer": layers})
