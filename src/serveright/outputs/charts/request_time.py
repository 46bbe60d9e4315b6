"""Where the time of one request goes: waiting and prefill first, then every output token, by what a decode step spends it on."""

from collections.abc import Sequence

from serveright.outputs.charts.parts import PARTS, amount, chart, colour
from serveright.types.design import Estimate
from serveright.types.document import Cell, Chart
from serveright.types.text import Msg, msg

FIRST = msg("until the first token")


def request_time(estimates: Sequence[tuple[Cell, Estimate]], output_tokens: int) -> Chart:
    """One bar a layout: seconds until the first token, then `output_tokens` - 1 steps split like the estimate's parts."""
    rows: list[dict[str, Cell | float | int]] = []
    for name, estimate in estimates:
        rows.append({"layout": name, "part": FIRST, "s": estimate.ttft_mean_s, "order": 0})
        decode, total = estimate.tpot_s * max(output_tokens - 1, 0), sum(estimate.parts.values()) or 1.0
        rows += [
            {"layout": name, "part": PARTS.get(part, Msg(part)), "s": decode * seconds / total, "order": i}
            for i, (part, seconds) in enumerate(estimate.parts.items(), 1)
            if seconds
        ]
    seen = dict.fromkeys(part for _, estimate in estimates for part, seconds in estimate.parts.items() if seconds)
    order: list[Cell] = [FIRST, *(PARTS.get(part, Msg(part)) for part in seen)]
    x = {**amount("s", msg("seconds of a mean request, {n:n} output tokens", n=output_tokens)), "stack": "zero"}
    y = {"field": "layout", "type": "nominal", "sort": [name for name, _ in estimates], "axis": {"title": None, "labelLimit": 260, "ticks": False}}
    tips = [{"field": "part", "title": msg("part")}, {"field": "s", "title": msg("seconds"), "format": ".3~r"}]
    mark = {"type": "bar", "height": 20}
    spec = {
        "height": {"step": 34},
        "data": {"values": rows},
        "mark": mark,
        "encoding": {"x": x, "y": y, "color": colour("part", order), "order": {"field": "order"}, "tooltip": tips},
    }
    words: Cell = ""
    if estimates:
        name, first = estimates[0]
        words = msg("{name}: {ttft:s} until the first token, then {tpot:s} a token", name=name, ttft=first.ttft_mean_s, tpot=first.tpot_s)
    return chart("request", msg("Where a request's time goes"), words, spec)
