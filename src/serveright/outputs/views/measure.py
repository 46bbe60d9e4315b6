"""What `measure` shows: derived beside reported and measured, then the samples and the fitted curves."""

from collections.abc import Iterator

from serveright.types.diagnosis import MeasureReport, Pair, Tokens
from serveright.types.document import Block, Bullets, Cell, Document, Heading, Paragraph, Style, Table
from serveright.types.text import Msg, msg

AGREEMENT: dict[str, tuple[Msg, Style]] = {
    "agrees": (msg("the server agrees with the derivation"), "good"),
    "differs": (msg("the server differs from the derivation"), "bad"),
    "unknown": (msg("nothing to compare with"), "warn"),
}


def document(report: MeasureReport) -> Document:
    """The whole page."""
    return Document(title=msg("{model} at {url}", model=report.model, url=report.url), blocks=tuple(_blocks(report)))


def _blocks(report: MeasureReport) -> Iterator[Block]:
    text, style = AGREEMENT[report.agreement]
    yield Paragraph(f"{report.engine or '?'} {report.version or ''}".strip(), "dim")
    yield Paragraph(text, style)
    if report.interrupted:
        yield Paragraph(msg("interrupted: the figures are of what was done until then"), "warn")
    columns: tuple[Cell, ...] = ("", msg("derived"), msg("reported"), msg("measured"))
    yield Table(columns, tuple(_rows(report)), right=(1, 2, 3))
    if report.samples:
        yield Heading(msg("Samples"))
        yield Table((msg("requests"), msg("input tokens"), msg("cache used"), "TTFT", "TPOT"), tuple(_samples(report)), right=(0, 1, 2, 3, 4))
    for name, curve in report.curves.items():
        yield Paragraph(msg("{name}: {base:s} + {slope:s} per {per}", name=name.upper(), base=curve.base_s, slope=curve.slope_s, per=curve.per))
    if report.findings:
        yield Bullets(report.findings)


def _rows(report: MeasureReport) -> Iterator[tuple[Cell, ...]]:
    pairs: tuple[tuple[Msg, Pair | Tokens], ...] = (
        (msg("bytes per token"), report.bytes_per_token),
        (msg("state bytes of a request"), report.state_bytes),
        (msg("tokens a block"), report.block_tokens),
        (msg("capacity in tokens"), report.capacity_tokens),
        (msg("requests of the longest length"), report.concurrency),
    )
    for label, value in pairs:
        reported = value.reported if isinstance(value, Tokens) else None
        yield label, _cell(value.derived), _cell(reported), _cell(value.measured)


def _cell(value: float | None) -> Cell:
    return "" if value is None else msg("{n:n}", n=round(value, 2))


def _samples(report: MeasureReport) -> Iterator[tuple[Cell, ...]]:
    for s in report.samples:
        usage: Cell = "" if s.usage is None else msg("{n:pct}", n=s.usage)
        yield str(s.requests), msg("{n:n}", n=s.input_tokens), usage, msg("{n:s}", n=s.ttft_s), msg("{n:s}", n=s.tpot_s)
