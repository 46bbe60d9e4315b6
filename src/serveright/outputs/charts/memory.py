"""The memory of one GPU as a stacked bar, an engine a bar, with the limit that binds."""

from collections.abc import Sequence
from typing import Any

from serveright.outputs.charts.parts import GIB, PALETTE, amount, chart
from serveright.types.document import Cell, Chart
from serveright.types.reports import SizeResult
from serveright.types.text import Msg, msg

PARTS: tuple[tuple[str, Msg, str], ...] = (
    ("weights", msg("weights"), PALETTE[0]),
    ("overhead", msg("overhead"), PALETTE[1]),
    ("kv", msg("KV pool"), PALETTE[2]),
    ("free", msg("left unused"), "#B3B3B3"),
)
LIMITS = {
    "memory": msg("bound by the KV pool"),
    "state_slots": msg("bound by state slots"),
    "max_num_seqs": msg("bound by the batch limit"),
    "does_not_fit": msg("does not fit"),
}


def memory(results: Sequence[SizeResult]) -> Chart:
    """GiB of one GPU by use; a line where the engine's budget ends, a whisker where overhead is only known as a range."""
    rows = [row for result in results for row in _rows(result)]
    marks = [_mark(result) for result in results]
    names = [str(label(result)) for result in results]
    x = amount("gib", msg("GiB of one GPU"))
    y = {"field": "engine", "type": "nominal", "sort": names, "axis": {"title": None, "labelLimit": 220, "ticks": False}}
    fill = {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": [text for _, text, _ in PARTS], "range": [code for _, _, code in PARTS]},
        "legend": {"title": None, "orient": "bottom", "columns": 4},
    }
    tips = [{"field": "part", "title": msg("part")}, {"field": "gib", "title": "GiB", "format": ",.2f"}]
    layers: list[dict[str, Any]] = [
        {"data": {"values": rows}, "mark": {"type": "bar", "height": 26}, "encoding": {"x": {**x, "stack": "zero"}, "y": y, "color": fill, "order": {"field": "order"}, "tooltip": tips}},
        {"data": {"values": marks}, "mark": {"type": "tick", "thickness": 3, "size": 42, "color": PALETTE[5], "opacity": 1}, "encoding": {"x": {**x, "field": "budget"}, "y": y, "tooltip": [{"field": "budget", "title": msg("what the engine may use, GiB"), "format": ",.2f"}]}},
        {"data": {"values": [m for m in marks if m["high"]]}, "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.55}, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}},
        {"data": {"values": marks}, "mark": {"type": "text", "align": "left", "baseline": "bottom", "dy": -16, "fontSize": 11}, "encoding": {"x": {"datum": 0}, "y": y, "text": {"field": "note"}}},
    ]  # fmt: skip
    return chart("memory", msg("The memory of one GPU"), _alternative(results), {"height": {"step": 62}, "layer": layers})


def label(result: SizeResult) -> Cell:
    """The engine's name, the one thing in which the bars differ."""
    return f"{result.engine.name} {result.engine.version}"


def _rows(result: SizeResult) -> list[dict[str, Any]]:
    split = result.memory
    pool = max(split.kv_pool_bytes, 0)
    used = split.weights_bytes + split.overhead_bytes + pool
    sizes = (split.weights_bytes, split.overhead_bytes, pool, max(split.device_bytes - used, 0))
    return [{"engine": label(result), "part": text, "gib": size / GIB, "order": i} for i, ((_, text, _), size) in enumerate(zip(PARTS, sizes, strict=True))]


def _mark(result: SizeResult) -> dict[str, Any]:
    split, capacity = result.memory, result.capacity
    low, high = split.overhead_range_bytes or (0, 0)
    limit = LIMITS.get(capacity.limited_by, Msg(capacity.limited_by))
    note = msg("{users:.1f} requests at once, {limit}", users=capacity.max_concurrency, limit=limit) if result.fits else msg("no request fits")
    return {
        "engine": label(result),
        "budget": split.budget_bytes / GIB,
        "low": (split.weights_bytes + low) / GIB,
        "high": (split.weights_bytes + high) / GIB if high else 0,
        "note": note,
    }


def _alternative(results: Sequence[SizeResult]) -> Cell:
    if not results:
        return ""
    split = results[0].memory
    return msg(
        "{engine}: weights {weights:gib}, overhead {overhead:gib}, KV pool {pool:gib} of {total:gib}",
        engine=label(results[0]),
        weights=split.weights_bytes,
        overhead=split.overhead_bytes,
        pool=max(split.kv_pool_bytes, 0),
        total=split.device_bytes,
    )
