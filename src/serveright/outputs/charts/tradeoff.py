"""Throughput against latency of all layouts: the Pareto front, the chosen point, and its range as a band."""

from collections.abc import Sequence
from typing import Any

from serveright.outputs.charts.parts import PALETTE, amount, chart
from serveright.types.document import Chart
from serveright.types.reports import PlanCandidate
from serveright.types.text import msg

KINDS = (msg("chosen"), msg("on the Pareto front"), msg("beaten"))


def tradeoff(candidates: Sequence[PlanCandidate], pareto: Sequence[PlanCandidate], names: Sequence[str]) -> Chart:
    """Milliseconds per output token across, output tokens per second upwards; up and to the left is better. `names` label `candidates`."""
    front = {_place(c) for c in pareto}
    priced: dict[tuple[float, float], tuple[PlanCandidate, str]] = {}
    for candidate, name in zip(candidates, names, strict=True):
        if candidate.estimate is not None:
            priced.setdefault(_place(candidate), (candidate, name))
    rows = [_row(c, name, 0 if i == 0 else 1 if place in front else 2) for i, (place, (c, name)) in enumerate(priced.items())]
    x = amount("tpot_ms", msg("time per output token, ms"), grid=True)
    y = amount("rate", msg("output tokens per second, all GPUs"))
    x["scale"] = y["scale"] = {"zero": False, "nice": True}
    shape = {"field": "kind", "type": "nominal", "scale": {"domain": list(KINDS), "range": ["diamond", "circle", "circle"]}, "legend": None}
    fill = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(KINDS), "range": [PALETTE[5], PALETTE[0], "#9A9A9A"]},
        "legend": {"title": None, "orient": "bottom"},
    }
    size = {"field": "kind", "type": "nominal", "scale": {"domain": list(KINDS), "range": [220, 90, 40]}, "legend": None}
    tips = [
        {"field": "name", "title": msg("layout")},
        {"field": "tpot_ms", "title": "TPOT, ms", "format": ".1f"},
        {"field": "rate", "title": msg("tokens/s"), "format": ",.0f"},
    ]
    layers: list[dict[str, Any]] = [
        {"data": {"values": [r for r in rows[:1] if "low_ms" in r]}, "mark": {"type": "rule", "opacity": 0.35, "strokeWidth": 7, "color": PALETTE[5]}, "encoding": {"x": {**x, "field": "low_ms"}, "x2": {"field": "high_ms"}, "y": y}},
        {"data": {"values": [r for r in rows if r["order"] < 2 and r["front"]]}, "mark": {"type": "line", "interpolate": "step-after", "opacity": 0.6, "color": PALETTE[0]}, "encoding": {"x": x, "y": y}},
        {"data": {"values": rows}, "mark": {"type": "point", "filled": True, "opacity": 0.9}, "encoding": {"x": x, "y": y, "shape": shape, "color": fill, "size": size, "tooltip": tips}},
        {"data": {"values": rows[:1]}, "mark": {"type": "text", "align": "left", "dx": 10, "dy": -10}, "encoding": {"x": x, "y": y, "text": {"field": "name"}}},
    ]  # fmt: skip
    first = rows[0] if rows else None
    alternative = (
        msg("{name}: {tpot:.1f} ms a token, {rate:.0f} tokens a second", name=first["name"], tpot=first["tpot_ms"], rate=first["rate"]) if first else ""
    )
    return chart("tradeoff", msg("Throughput against latency"), alternative, {"height": 300, "layer": layers})


def _place(candidate: PlanCandidate) -> tuple[float, float]:
    estimate = candidate.estimate
    return (estimate.tpot_s, estimate.output_tokens_per_s) if estimate else (0.0, 0.0)


def _row(candidate: PlanCandidate, name: str, kind: int) -> dict[str, Any]:
    tpot, rate = _place(candidate)
    row: dict[str, Any] = {"name": name, "tpot_ms": tpot * 1e3, "rate": rate, "kind": KINDS[kind], "order": kind, "front": kind < 2}
    if candidate.estimate and "tpot_s" in candidate.estimate.range:
        low, high = candidate.estimate.range["tpot_s"]
        row |= {"low_ms": low * 1e3, "high_ms": high * 1e3}
    return row
