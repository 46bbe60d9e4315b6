"""What `diagnose` shows: causes likeliest first, each with the lines that speak for it, then the corrected command and what to check next."""

from collections.abc import Iterator

from serveright.types.diagnosis import Cause, DiagnoseReport, Evidence, Part
from serveright.types.document import Block, Bullets, Cell, Code, Document, Heading, Paragraph, Style, Table
from serveright.types.text import Msg, msg

PARTS: dict[str, Msg] = {
    "weights": msg("weights"),
    "overhead": msg("overhead"),
    "kv_pool": msg("KV pool"),
    "bytes_per_token": msg("bytes a token"),
    "block_tokens": msg("tokens a block"),
    "capacity_tokens": msg("tokens held"),
    "state_slots": msg("state slots"),
}
VERDICTS: dict[str, Msg] = {"agrees": msg("agrees"), "differs": msg("differs"), "unknown": msg("unknown")}


def document(report: DiagnoseReport) -> Document:
    """The whole page."""
    title = (
        msg("{cause} ({share:pct})", cause=report.causes[0].title, share=report.causes[0].likelihood)
        if report.causes
        else msg("nothing points to a known cause")
    )
    return Document(title=title, blocks=tuple(_blocks(report)))


def place(evidence: Evidence) -> str:
    """`file:line`."""
    return f"{evidence.source}:{evidence.line}" if evidence.line else evidence.source


def _blocks(report: DiagnoseReport) -> Iterator[Block]:
    if report.engine:
        yield Paragraph(f"{report.engine} {report.version or ''}".strip(), "dim")
    for note in report.notes:
        yield Paragraph(note, "warn")
    for number, cause in enumerate(report.causes, start=1):
        yield from _cause(number, cause)
    if report.corrected_command:
        yield Heading(msg("Corrected command"))
        yield Code(report.corrected_command)
    if report.memory:
        yield Heading(msg("The log against the derivation"))
        yield Table((msg("part"), msg("derived"), msg("in the log"), "", msg("meaning")), tuple(_part(part) for part in report.memory), right=(1, 2), wide=(4,))
    if report.ruled_out:
        yield Heading(msg("Ruled out"))
        yield Bullets(tuple(msg("{cause}: {why}", cause=out.title, why=_text(out.because[0])) for out in report.ruled_out))
    if report.not_a_fault:
        yield Heading(msg("Not a fault"))
        yield Bullets(tuple(msg("{code}: {text}", code=fine.code, text=fine.text) for fine in report.not_a_fault))
    if report.next_checks:
        yield Heading(msg("Check next"))
        yield Bullets(report.next_checks)


def _cause(number: int, cause: Cause) -> Iterator[Block]:
    style: Style = "bad" if number == 1 else "plain"
    yield Heading(msg("{number}. {code} {title} ({share:pct})", number=number, code=cause.code, title=cause.title, share=cause.likelihood))
    yield Paragraph(cause.why, style)
    lines: list[Cell] = [msg("{place}: {text}", place=place(line), text=_text(line)) for line in cause.evidence[:5]]
    lines += [msg("against it: {place}: {text}", place=place(line), text=_text(line)) for line in cause.against[:3]]
    if lines:
        yield Bullets(tuple(lines))
    for fix in cause.fix[:3]:
        yield Paragraph(fix, "good")


def _text(evidence: Evidence) -> Msg:
    return evidence.text if isinstance(evidence.text, Msg) else Msg("{text}", {"text": evidence.text})


def _part(part: Part) -> tuple[Cell, ...]:
    return (PARTS.get(part.name, Msg(part.name)), _amount(part.derived, part.unit), _amount(part.observed, part.unit), VERDICTS[part.verdict], part.text)


def _amount(value: float | None, unit: str) -> Cell:
    if value is None:
        return "?"
    return msg("{n:gib}", n=value) if unit == "B" else msg("{n:n}", n=round(value))
