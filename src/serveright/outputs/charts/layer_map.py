"""The layers of a model, one cell each, coloured and lettered by kind: a repeating pattern is seen at a glance."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from serveright.outputs.charts.parts import chart, colour
from serveright.types.document import Chart
from serveright.types.text import msg

WIDEST = 24


def layer_map(letters: str, legend: Mapping[str, str]) -> Chart:
    """`letters` as in the inspect report: one letter a layer, several in brackets where a layer has several mixers."""
    cells = re.findall(r"\([^)]*\)|.", letters)
    columns = row_length(cells)
    names = [" + ".join(legend.get(letter, letter) for letter in cell.strip("()")) for cell in cells]
    rows = [
        {"layer": i, "row": i // columns, "column": i % columns, "letter": cell.strip("()"), "kind": name}
        for i, (cell, name) in enumerate(zip(cells, names, strict=True))
    ]
    kinds = list(dict.fromkeys(names))
    x = {"field": "column", "type": "ordinal", "axis": {"title": None, "labels": False, "ticks": False, "domain": False}, "scale": {"padding": 0.12}}
    y: dict[str, Any] = {
        "field": "row",
        "type": "ordinal",
        "scale": {"padding": 0.18},
        "axis": {"title": msg("layer"), "labelExpr": f"datum.value * {columns}", "ticks": False, "domain": False},
    }
    tips = [{"field": "layer", "title": msg("layer")}, {"field": "kind", "title": msg("kind")}]
    layers = [
        {"mark": {"type": "rect", "cornerRadius": 3}, "encoding": {"x": x, "y": y, "color": colour("kind", kinds), "tooltip": tips}},
        {"mark": {"type": "text", "fontSize": 10, "color": "white", "fontWeight": "bold"}, "encoding": {"x": x, "y": y, "text": {"field": "letter"}}},
    ]
    counts = ", ".join(f"{names.count(kind)} x {kind}" for kind in kinds)
    return chart("layers", msg("The layers in order"), counts, {"height": {"step": 26}, "data": {"values": rows}, "layer": layers})


def row_length(cells: Sequence[str]) -> int:
    """A multiple of the pattern's period, so that equal columns hold equal layers; at most `WIDEST`."""
    marks = [i for i, (a, b) in enumerate(pairwise(cells)) if a != b]
    period = next((p for p in range(1, min(WIDEST, len(cells)) + 1) if marks and all(cells[i] == cells[i + p] for i in range(len(cells) - p))), 0)
    if not period:
        return min(16, max(len(cells), 1))
    return period * max(1, WIDEST // period if period * 2 <= WIDEST else 1)
