"""What `check` shows: per engine the verdict, the reasons worst first, the automatic choices, versions and words."""

from collections.abc import Iterator

from serveright.outputs.views.words import SHORT, VERDICTS
from serveright.types.design import Check
from serveright.types.document import Block, Bullets, Cell, Document, Heading, Pairs, Paragraph, Table
from serveright.types.reports import CatalogueCheckReport, CheckReport, ModelChecks
from serveright.types.text import msg


def document(report: CheckReport) -> Document:
    """The whole page of one model on one GPU."""
    title = msg("{model} on {gpu}: does it run?", model=report.model.id, gpu=report.gpu.key)
    return Document(title=title, blocks=tuple(block for check in report.engines for block in engine(check)))


def catalogue(report: CatalogueCheckReport) -> Document:
    """One line a model: the verdicts, and why where it is not the best."""
    names = [f"{check.engine} {check.version}" for check in report.models[0].engines] if report.models else []
    columns: tuple[Cell, ...] = (msg("model"), *names, msg("why"))
    title = msg("{count} models of the catalogue on {gpu}: do they run?", count=len(report.models), gpu=report.gpu.key)
    return Document(title=title, blocks=(Table(columns, tuple(map(_row, report.models)), wide=(len(columns) - 1,)),))


def _row(model: ModelChecks) -> tuple[Cell, ...]:
    worst = next((check for check in model.engines if check.verdict != "best" and check.reasons), None)
    return (model.id, *(SHORT[check.verdict] for check in model.engines), worst.reasons[0].text if worst else "")


def engine(check: Check) -> Iterator[Block]:
    """One engine's part."""
    text, style = VERDICTS[check.verdict]
    yield Heading(f"{check.engine} {check.version}")
    yield Paragraph(text, style)
    yield from obstacles(check)
    fine = tuple(r for r in check.reasons if r.verdict == "best")
    if fine:
        if len(fine) < len(check.reasons):
            yield Paragraph(msg("no obstacle:"), "dim")
        yield Bullets(tuple(r.text for r in fine), sources=tuple(r.source for r in fine))
    yield Pairs(tuple(_pairs(check)))


def obstacles(check: Check) -> Iterator[Block]:
    """What keeps the verdict from being the best, worst first."""
    found = tuple(r for r in check.reasons if r.verdict != "best")
    if found:
        yield Bullets(tuple(r.text for r in found), sources=tuple(r.source for r in found))


def _pairs(check: Check) -> Iterator[tuple[Cell, Cell]]:
    chosen = check.resolved
    yield (
        msg("attention"),
        msg("{prefill} for prefill, {decode} for decode", prefill=chosen["attention_prefill"] or "?", decode=chosen["attention_decode"] or "?"),
    )
    for name, label in (("indexer", msg("indexer")), ("moe", msg("expert kernel")), ("kv_dtype", msg("KV cache")), ("block_tokens", msg("tokens a block"))):
        if chosen.get(name) is not None:
            yield label, msg("chosen at start-up") if chosen[name] == "auto" else str(chosen[name])
    if check.minimum["engine"]:
        yield msg("oldest engine version"), check.minimum["engine"]
    if check.minimum["transformers"]:
        yield msg("oldest transformers version"), check.minimum["transformers"]
    yield msg("tool parser"), check.tool_parser or msg("none known")
    yield msg("reasoning parser"), check.reasoning_parser or msg("none known")
    if check.checkpoint:
        yield msg("better checkpoint here"), check.checkpoint
    if check.prefix_cache:
        yield msg("prefix caching"), check.prefix_cache
    if check.kv_tiering:
        yield msg("LMCache"), check.kv_tiering
