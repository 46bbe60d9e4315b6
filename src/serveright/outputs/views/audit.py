"""What `audit`, `migrate` and `rule` show."""

from bisect import bisect_right
from collections.abc import Iterator

from serveright.outputs.views.words import CONFIDENCES, EFFECTS, SEVERITIES
from serveright.types.audit_reports import AuditReport, Deployed, Migrated, MigrateReport, RuleReport
from serveright.types.document import Block, Bullets, Code, Document, Heading, Paragraph, Table
from serveright.types.report import Finding, Location
from serveright.types.text import Msg, msg


def place(location: Location) -> str:
    """`file:line:column`, as editors understand it."""
    return f"{location.file}:{location.line}:{location.column}" if location.line else location.file


def document(report: AuditReport) -> Document:
    """Findings by file and place, each with its reason and repair."""
    return Document(title=_title(report), blocks=tuple(_blocks(report)))


def _title(report: AuditReport) -> Msg:
    counts = {severity: sum(1 for f in report.findings if f.severity == severity) for severity in SEVERITIES}
    return msg(
        "Commands: {commands}. Errors: {errors}, warnings: {warnings}, notes: {notes}",
        commands=len(report.deployments),
        errors=counts["error"],
        warnings=counts["warning"],
        notes=counts["note"],
    )


def _blocks(report: AuditReport) -> Iterator[Block]:
    for deployment, findings in zip(report.deployments, _by_command(report), strict=True):
        yield Heading(_head(deployment))
        if not deployment.version_known:
            yield Paragraph(
                msg(
                    "no version is named, so it is read as {version}; --engine {engine}@VERSION says otherwise",
                    version=deployment.version,
                    engine=deployment.engine,
                ),
                "dim",
            )
        if deployment.model and not deployment.model_known:
            yield Paragraph(
                msg(
                    "the config of {model} is not at hand: rules about the model were left out (--model FILE, or --fetch to ask the Hub)",
                    model=deployment.model,
                ),
                "warn",
            )
        if not deployment.checkpoint_known:
            yield Paragraph(
                msg(
                    "{model} is known only by its base model: its number formats and size are not at hand, so rules about them were left out",
                    model=deployment.model or "",
                ),
                "warn",
            )
        if deployment.gpu is None:
            yield Paragraph(msg("no GPU is named: rules about the GPU were left out (--gpu 8xh200)"), "dim")
        yield from (Paragraph(text, "warn") for text in deployment.unread)
        for finding in findings:
            yield from _finding(finding)
        if deployment.present or deployment.absent:
            rows = tuple((f.flag if f.value is None else f"{f.flag} {f.value}", f.why) for f in deployment.present)
            yield Table((msg("flag"), msg("why")), rows, wide=(1,))
            yield Table((msg("absent on purpose"), msg("why")), tuple((left.flag, left.why) for left in deployment.absent), wide=(1,))
    for text in report.unread:
        yield Paragraph(text, "warn")
    for fixed in report.fixed:
        if fixed.diff:
            yield Heading(msg("{n} edits in {file}", n=fixed.applied, file=fixed.file))
            yield Code(fixed.diff.rstrip("\n"), language="diff")
        if fixed.left:
            yield Bullets(fixed.left)


def _by_command(report: AuditReport) -> list[list[Finding]]:
    """Findings of each command, in the order of the commands: those from its place up to the next command of the file."""
    starts: dict[str, list[tuple[int, int, int]]] = {}
    for number, deployment in enumerate(report.deployments):
        starts.setdefault(deployment.location.file, []).append((deployment.location.line, deployment.location.column, number))
    for places in starts.values():
        places.sort()
    found: list[list[Finding]] = [[] for _ in report.deployments]
    for finding in report.findings:
        places = starts.get(finding.location.file, [])
        if places:
            before = bisect_right(places, (finding.location.line, finding.location.column, len(found)))
            found[places[max(0, before - 1)][2]].append(finding)
    return found


def _head(deployment: Deployed) -> Msg:
    return msg(
        "{place}: {engine} {version}, {model} on {gpu}",
        place=place(deployment.location),
        engine=deployment.engine,
        version=deployment.version,
        model=deployment.model or msg("a model not named"),
        gpu=_gpus(deployment),
    )


def _gpus(deployment: Deployed) -> Msg | str:
    if deployment.gpu is None:
        return msg("GPUs not named") if deployment.gpu_count is None else msg("{count} GPUs not named", count=deployment.gpu_count)
    return deployment.gpu if deployment.gpu_count is None else f"{deployment.gpu_count} x {deployment.gpu}"


def _finding(finding: Finding) -> Iterator[Block]:
    word, style = SEVERITIES[finding.severity]
    yield Paragraph(
        msg("{place}: {severity} {code}: {message}", place=place(finding.location), severity=word, code=finding.code, message=finding.message), style
    )
    details = [msg("why: {text}", text=finding.why)]
    if finding.fix is not None:
        details.append(msg("fix: {text}", text=finding.fix))
    yield Bullets(tuple(details), sources=("", *finding.sources[:1]))


def migration(report: MigrateReport) -> Document:
    """The new commands and what was lost."""
    return Document(title=msg("{n} commands translated", n=len(report.migrations)), blocks=tuple(b for m in report.migrations for b in _migrated(m)))


def _migrated(moved: Migrated) -> Iterator[Block]:
    yield Heading(msg("{place}: {origin} to {target}", place=place(moved.location), origin=moved.origin, target=moved.target))
    yield Code(moved.command)
    if moved.lost:
        yield Table((msg("has no equivalent"), msg("value"), msg("why")), tuple((lost.flag, lost.value or "", lost.why) for lost in moved.lost), wide=(2,))
    if moved.notes:
        yield Bullets(moved.notes)


def rule(report: RuleReport) -> Document:
    """One rule's page, or the list."""
    if len(report.rules) == 1:
        page = report.rules[0]
        head = Paragraph(
            msg(
                "{severity} · {effect} · {confidence}",
                severity=SEVERITIES[page.severity][0],
                effect=EFFECTS[page.effect],
                confidence=CONFIDENCES[page.confidence],
            ),
            "dim",
        )
        return Document(title=f"{page.code} {page.name}", blocks=(head, Code(page.page, language="markdown")))
    rows = tuple((r.code, SEVERITIES[r.severity][0], EFFECTS[r.effect], r.title) for r in report.rules)
    return Document(
        title=msg("{n} rules", n=len(rows)), blocks=(Table((msg("code"), msg("severity"), msg("effect"), msg("what it catches")), rows, wide=(3,)),)
    )
