"""What `place` shows: copies by model and GPU, what they cost, what is left, and what is short."""

from collections.abc import Iterator

from serveright.types.document import Block, Bullets, Document, Heading, Pairs, Paragraph, Table
from serveright.types.placing import PlaceReport
from serveright.types.text import Msg, msg


def document(report: PlaceReport) -> Document:
    """The placement."""
    title = msg("{n} deployments placed", n=len(report.placed)) if not report.short else msg("{n} models do not fit this stock", n=len(report.short))
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: PlaceReport) -> Iterator[Block]:
    rows = tuple(
        (
            item.offer.model,
            f"{item.copies} x {item.offer.gpus} {item.offer.gpu}",
            f"{item.offer.engine} {item.offer.layout}",
            f"{item.offer.rate_per_s * item.copies:.2f}",
            "" if item.usd_per_hour is None else f"{item.usd_per_hour:.2f}",
        )
        for item in report.placed
    )
    yield Table((msg("model"), msg("GPUs"), msg("engine and layout"), msg("requests/s it can"), msg("US dollars an hour")), rows, right=(3, 4))
    yield Pairs(tuple(_pairs(report)))
    if report.short:
        yield Heading(msg("Short"))
        yield Bullets(tuple(_short(short.model, short.unmet_per_s, short.more_gpus, short.why) for short in report.short))
    yield from (Paragraph(note, "dim") for note in report.notes)


def _pairs(report: PlaceReport) -> Iterator[tuple[Msg, Msg | str]]:
    if report.usd_per_hour is not None:
        yield msg("in all"), msg("{usd:n} US dollars an hour", usd=round(report.usd_per_hour, 2))
    yield msg("planned to"), msg("{share:pct} of each copy's rate", share=report.headroom)
    yield msg("left over"), ", ".join(f"{count} {gpu}" for gpu, count in report.left.items())
    yield msg("proof"), msg("no cheaper placement of these offers exists") if report.proved else msg("the solver stopped early: a cheaper one may exist")


def _short(model: str, rate: float, more: dict[str, int], why: Msg) -> Msg:
    if not more:
        return msg("{model}: {rate} requests/s find no room; {why}", model=model, rate=round(rate, 3), why=why)
    kinds = ", ".join(f"{count} {gpu}" for gpu, count in more.items())
    return msg("{model}: {rate} requests/s find no room; any one of these would do: {more}", model=model, rate=round(rate, 3), more=kinds)
