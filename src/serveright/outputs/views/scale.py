"""What `scale` shows: copies over time, and what following the curve saves."""

from collections.abc import Iterator

from serveright.types.document import Block, Derivations, Document, Pairs, Table
from serveright.types.scaling import ScaleReport
from serveright.types.text import Msg, msg


def document(report: ScaleReport) -> Document:
    """The schedule."""
    title = msg("{model}: {low} to {high} copies", model=report.model, low=min(step.copies for step in report.steps), high=report.peak_copies)
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: ScaleReport) -> Iterator[Block]:
    yield Pairs(tuple(_pairs(report)))
    rows = tuple((f"{step.at_s / 3600:.2f} h", f"{step.rate_per_s:g}", str(step.copies)) for step in report.steps)
    yield Table((msg("from"), msg("requests/s"), msg("copies")), rows, right=(0, 1, 2))
    yield Derivations(report.derivation)


def _pairs(report: ScaleReport) -> Iterator[tuple[Msg, Msg | str]]:
    yield msg("one copy"), f"{report.engine} {report.version} {report.layout}, {report.gpus_per_copy} x {report.gpu}"
    yield msg("carries within the targets"), msg("{rate} requests/s, planned to {share:pct}", rate=round(report.copy_rate_per_s, 2), share=report.headroom)
    yield msg("started so long before"), msg("{s:s}", s=report.startup_s)
    yield (
        msg("copy hours"),
        msg("{follow:n} instead of {fixed:n} at a fixed number", follow=round(report.copy_hours, 1), fixed=round(report.fixed_copy_hours, 1)),
    )
    if report.usd is not None and report.fixed_usd is not None:
        yield msg("US dollars"), msg("{follow:n} instead of {fixed:n}", follow=round(report.usd), fixed=round(report.fixed_usd))
