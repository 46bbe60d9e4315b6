"""What `fleet` shows: how many, what is lost, findings by rule, the worst deployments; and what changed between two dumps."""

from collections.abc import Iterator

from serveright.outputs.language import rule_page
from serveright.outputs.views.words import SEVERITIES
from serveright.types.document import Block, Bullets, Document, Heading, Pairs, Paragraph, Table
from serveright.types.fleet import Changed, FleetDiff, FleetReport, Row
from serveright.types.text import Msg, msg

GRAVE = {**{name: word for name, (word, _) in SEVERITIES.items()}, "clean": msg("no finding")}
SHOWN = 40


def document(report: FleetReport, lang: str = "en") -> Document:
    """The summary of a run; `lang` chooses the language of the rules' titles, which stand on their pages."""
    title = msg("{n:n} deployments in {pieces:n} files and objects", n=report.deployments, pieces=report.pieces)
    return Document(title=title, blocks=tuple(_blocks(report, lang)))


def _blocks(report: FleetReport, lang: str) -> Iterator[Block]:
    yield Pairs(
        (
            (msg("GPUs asked for"), f"{report.gpus:,.0f}"),
            (msg("lost: they crash at start or idle"), _lost(report)),
            (msg("in deployments with a warning or worse"), f"{report.affected_gpus:,.0f}"),
            *((GRAVE[name], f"{count:,}") for name, count in report.by_severity.items()),
            (msg("audited now, taken from before"), f"{report.audited:,}, {report.reused:,}"),
        )
    )
    if report.groups:
        yield Heading(msg("By rule"))
        yield Table(
            (msg("rule"), msg("severity"), msg("deployments"), msg("GPUs"), msg("what"), msg("for example")),
            tuple(
                (g.code, GRAVE[g.severity], f"{g.deployments:,}", f"{g.gpus:,.0f}", (rule_page(g.code, lang) or (g.title,))[0], g.example)
                for g in report.groups
            ),
            right=(2, 3),
            wide=(4,),
        )
    if report.worst:
        yield Heading(msg("Worst first"))
        yield Table(
            (msg("where"), msg("engine"), msg("model"), msg("GPUs"), msg("lost"), msg("findings")),
            tuple(_row(row) for row in report.worst),
            right=(3, 4),
            wide=(0, 5),
        )
    yield from (Paragraph(note, "warn") for note in report.notes[:20])
    yield Paragraph(msg("every deployment: {file}", file=report.rows_file), "dim")


def _lost(report: FleetReport) -> Msg | str:
    if report.lost_usd_per_hour is None:
        return f"{report.lost_gpus:,.0f}"
    return msg("{gpus:n}, {usd:n} US dollars an hour", gpus=round(report.lost_gpus), usd=round(report.lost_usd_per_hour, 2))


def _row(row: Row) -> tuple[str, ...]:
    codes = [finding.code for finding in row.findings if finding.severity != "note"] or [finding.code for finding in row.findings]
    gpus = "" if row.gpus is None else f"{row.gpus:,} {row.gpu or ''}".strip()
    return (row.key, f"{row.engine} {row.version or '?'}", row.model or "?", gpus, f"{row.lost_gpus:,.0f}", " ".join(dict.fromkeys(codes)))


def difference(diff: FleetDiff) -> Document:
    """What changed."""
    title = msg(
        "{added:n} added, {removed:n} removed, {changed:n} changed, {same:n} as before",
        added=len(diff.added),
        removed=len(diff.removed),
        changed=len(diff.changed),
        same=diff.same,
    )
    return Document(title=title, blocks=tuple(_changes(diff)))


def _changes(diff: FleetDiff) -> Iterator[Block]:
    yield Pairs(((msg("GPUs lost"), f"{diff.lost_gpus[0]:,.0f} -> {diff.lost_gpus[1]:,.0f}"),))
    if diff.findings:
        yield Heading(msg("Findings"))
        yield Table((msg("rule"), msg("before"), msg("after")), tuple((code, f"{a:,}", f"{b:,}") for code, (a, b) in diff.findings.items()), right=(1, 2))
    for heading, keys in ((msg("Added"), diff.added), (msg("Removed"), diff.removed)):
        if keys:
            yield Heading(heading)
            yield Bullets((*keys[:SHOWN], *((msg("and {n:n} more", n=len(keys) - SHOWN),) if len(keys) > SHOWN else ())))
    if diff.changed:
        yield Heading(msg("Changed"))
        yield Table((msg("where"), msg("fields"), msg("new findings"), msg("gone")), tuple(_change(item) for item in diff.changed[:SHOWN]), wide=(1,))


def _change(item: Changed) -> tuple[str, ...]:
    fields = ", ".join(f"{name} {a} -> {b}" for name, (a, b) in item.fields.items())
    return item.key, fields, " ".join(item.appeared), " ".join(item.gone)
