"""Row files -> what a person reads: groups, losses, the worst rows, the difference of two, and Parquet. Streams; holds counts and a few rows."""

import heapq
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from serveright.api.fleets import Run, read_rows
from serveright.errors import InputError
from serveright.rules.registry import all_rules
from serveright.types.fleet import Changed, FleetDiff, FleetReport, Group, Row
from serveright.types.report import Effect, Severity
from serveright.types.text import msg

BATCH = 20_000
"""Rows of one Parquet row group."""
SEVERITY = {"error": 2, "warning": 1, "note": 0}


class _Tally(Struct):
    """One rule's findings so far."""

    severity: Severity
    effect: Effect
    example: str
    deployments: int = 0
    gpus: float = 0


def summary(run: Run, top: int = 20) -> FleetReport:
    """The report of a finished run, worst rows first."""
    severities: Counter[str] = Counter()
    engines: Counter[str] = Counter()
    models: Counter[str] = Counter()
    tallies: dict[str, _Tally] = {}
    worst: list[tuple[tuple[float, ...], int, Row]] = []
    total = gpus = lost = affected = money = 0.0
    priced = False
    for number, row in enumerate(read_rows(run.rows)):
        total += 1
        gpus += row.gpus or 0
        lost += row.lost_gpus
        affected += row.affected_gpus
        money += row.lost_usd_per_hour or 0.0
        priced = priced or row.lost_usd_per_hour is not None
        severities[row.worst or "clean"] += 1
        engines[f"{row.engine} {row.version or '?'}"] += 1
        models[row.model or "?"] += 1
        _count(tallies, row)
        if row.worst is not None:
            heapq.heappush(worst, (_weight(row), -number, row))
            if len(worst) > top:
                heapq.heappop(worst)
    titles = {rule.code: rule.title for rule in all_rules()}
    return FleetReport(
        deployments=int(total),
        pieces=run.pieces,
        audited=run.audited,
        reused=run.reused,
        gpus=gpus,
        lost_gpus=lost,
        affected_gpus=affected,
        lost_usd_per_hour=money if priced else None,
        by_severity=dict(severities.most_common()),
        by_engine=dict(engines.most_common(20)),
        by_model=dict(models.most_common(20)),
        groups=tuple(_groups(tallies, titles)),
        worst=tuple(row for _, _, row in sorted(worst, key=lambda item: item[:2], reverse=True)),
        rows_file=str(run.rows),
        notes=run.notes,
    )


def _weight(row: Row) -> tuple[float, ...]:
    errors = sum(finding.severity == "error" for finding in row.findings)
    return (row.lost_gpus, SEVERITY[row.worst or "note"], row.affected_gpus, errors, len(row.findings))


def _count(tallies: dict[str, _Tally], row: Row) -> None:
    for code, finding in {finding.code: finding for finding in reversed(row.findings)}.items():
        tally = tallies.setdefault(code, _Tally(finding.severity, finding.effect, f"{row.file}:{finding.line}"))
        tally.deployments += 1
        tally.gpus += row.gpus or 0
        if SEVERITY[finding.severity] > SEVERITY[tally.severity]:
            tally.severity = finding.severity


def _groups(tallies: dict[str, _Tally], titles: dict[str, str]) -> Iterator[Group]:
    order = sorted(tallies.items(), key=lambda item: (-SEVERITY[item[1].severity], -item[1].gpus, -item[1].deployments, item[0]))
    for code, tally in order:
        yield Group(
            code=code,
            title=titles.get(code, ""),
            severity=tally.severity,
            effect=tally.effect,
            deployments=tally.deployments,
            gpus=tally.gpus,
            example=tally.example,
        )


WATCHED = ("engine", "version", "model", "gpu", "gpus", "copies")


def difference(old: Path, new: Path) -> FleetDiff:
    """What changed between two row files: deployments by key, their fields, and findings that came or went."""
    before = {row.key: row for row in read_rows(old)}
    after = {row.key: row for row in read_rows(new)}
    changed = [_changed(key, before[key], after[key]) for key in sorted(before.keys() & after.keys())]
    told = [item for item in changed if item is not None]
    counts = [Counter(code for row in rows.values() for code in {f.code for f in row.findings}) for rows in (before, after)]
    return FleetDiff(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(told),
        same=len(changed) - len(told),
        lost_gpus=(sum(row.lost_gpus for row in before.values()), sum(row.lost_gpus for row in after.values())),
        findings={code: (counts[0][code], counts[1][code]) for code in sorted(counts[0].keys() | counts[1].keys()) if counts[0][code] != counts[1][code]},
    )


def _changed(key: str, before: Row, after: Row) -> Changed | None:
    fields = {name: (_word(before, name), _word(after, name)) for name in WATCHED if _word(before, name) != _word(after, name)}
    had, has = {f.code for f in before.findings}, {f.code for f in after.findings}
    if not fields and had == has:
        return None
    return Changed(key=key, fields=fields, appeared=tuple(sorted(has - had)), gone=tuple(sorted(had - has)))


def _word(row: Row, name: str) -> str:
    value: object = msgspec.structs.asdict(row)[name]
    return "?" if value is None else str(value)


def to_parquet(rows: Path, target: Path) -> int:
    """The rows as Parquet, findings as a list column; the number of rows. Raises InputError where pyarrow is missing."""
    try:
        import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
        import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise InputError(msg("Parquet needs pyarrow"), msg("pip install 'serveright[parquet]'")) from error
    arrow: Any = pa
    finding = arrow.struct(
        [("code", arrow.string()), ("severity", arrow.string()), ("effect", arrow.string()), ("flag", arrow.string()), ("line", arrow.int32())]
    )
    kinds: dict[str, Any] = {
        **dict.fromkeys(("piece", "digest", "file", "engine", "version", "model", "gpu", "worst"), arrow.string()),
        **dict.fromkeys(("part", "parts", "line", "gpus", "copies", "unread"), arrow.int64()),
        **dict.fromkeys(("lost_gpus", "affected_gpus", "lost_usd_per_hour"), arrow.float64()),
        "findings": arrow.list_(finding),
    }
    schema = arrow.schema([(name, kinds[name]) for name in Row.__struct_fields__])
    count = 0
    with pq.ParquetWriter(str(target), schema) as writer:
        for batch in _batches(rows):
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _batches(rows: Path) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in read_rows(rows):
        batch.append(msgspec.to_builtins(row))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
