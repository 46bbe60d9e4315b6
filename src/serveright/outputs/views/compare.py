"""What `compare` shows: one column a model, one row a question, and what follows."""

from collections.abc import Iterator

from serveright.types.choosing import CompareReport
from serveright.types.document import Block, Bullets, Document, Heading, Pairs, Table
from serveright.types.text import msg

APART = ("flags",)
"""Rows whose answers are too long for a column."""


def document(report: CompareReport) -> Document:
    """The whole page."""
    traffic = report.traffic
    title = msg(
        "side by side: {users:n} requests at once, {input:n} tokens in, {output:n} out",
        users=traffic.concurrency or 1, input=traffic.input_tokens[0], output=traffic.output_tokens[0],
    )  # fmt: skip
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: CompareReport) -> Iterator[Block]:
    columns = (msg("question"), *report.columns)
    table = tuple((row.label, *(row.values[name] for name in report.columns)) for row in report.rows if row.item not in APART)
    yield Table(columns, table, wide=tuple(range(1, len(columns))))
    if report.curves is not None:
        from serveright.outputs.charts.cache_growth import cache_growth

        yield cache_growth(report.curves.cache)
    yield Heading(msg("What follows"))
    yield Bullets(report.verdicts)
    for row in report.rows:
        if row.item in APART:
            yield Heading(row.label)
            yield Pairs(tuple((name, row.values[name]) for name in report.columns))
    yield Heading(msg("Why each row"))
    yield Table((msg("question"), msg("why it matters")), tuple((row.label, row.why) for row in report.rows), wide=(1,))
