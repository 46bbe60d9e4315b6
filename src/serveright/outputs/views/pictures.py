"""Which pictures a report shows; loaded only where one was asked for."""

from collections.abc import Iterator

from serveright.outputs.charts.cache_growth import cache_growth
from serveright.outputs.charts.expert_load import hottest
from serveright.outputs.charts.layer_map import layer_map
from serveright.outputs.charts.memory import memory
from serveright.outputs.charts.request_time import request_time
from serveright.outputs.charts.roofline import roofline
from serveright.outputs.charts.tpot import tpot
from serveright.outputs.charts.tradeoff import tradeoff
from serveright.outputs.charts.users import users
from serveright.types.curves import Curves
from serveright.types.document import Chart
from serveright.types.reports import InspectReport, PlanCandidate, PlanReport, SizeReport, SizeResult

BARS = 4


def shape(report: InspectReport, curves: Curves) -> Iterator[Chart]:
    """Step 1: the layers, and how the cache grows."""
    yield layer_map(report.layer_map, report.layer_legend)
    if curves.cache:
        yield cache_growth(curves.cache)


def sizes(report: SizeReport, curves: Curves) -> Iterator[Chart]:
    """Step 2 on every engine."""
    yield memory(report.results)
    if curves.users:
        yield users(curves.users, report.context_tokens)
    if curves.cache:
        yield cache_growth(curves.cache)


def room(result: SizeResult, curves: Curves, context_tokens: int | None) -> Iterator[Chart]:
    """Step 2 of a design."""
    yield memory((result,))
    if curves.users:
        yield users(curves.users, context_tokens)


def design(report: PlanReport, curves: Curves, names: list[str]) -> Iterator[Chart]:
    """Step 5. `names` label the candidates in order."""
    traffic = report.steps["design"]["traffic"]
    fitting = [(c, name) for c, name in zip(report.candidates, names, strict=True) if c.fits and c.estimate is not None]
    if not fitting:
        return
    pareto: tuple[PlanCandidate, ...] = report.steps["design"]["pareto"]
    yield tradeoff([c for c, _ in fitting], pareto, [f"{name} · {c.engine.name}" for c, name in fitting])
    if curves.tpot:
        yield tpot(curves.tpot, report.flips)
    bars = [(f"{name} · {c.engine.name}", c.estimate) for c, name in fitting[:BARS] if c.estimate is not None]
    yield request_time(bars, traffic.output_tokens[0])
    if report.experts is not None:
        yield hottest(report.experts)
    if curves.roof is not None and curves.roof.parts:
        yield roofline(curves.roof)
