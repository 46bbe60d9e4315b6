"""Engine tables by version, as harvested: which versions there are, since when an engine knows a name, and what changed between two."""

import zlib
from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from serveright.catalog.files import FACTS
from serveright.errors import UsageError
from serveright.types.engine_table import Area, Change, EngineIndex, EngineName, EngineTable, Flag, Successor, TableDiff
from serveright.types.text import Msg, msg
from serveright.versions import at_least, is_version

GZIP = 16 + zlib.MAX_WBITS


@cache
def table_index(engine: EngineName) -> EngineIndex:
    """The index of an engine's tables: versions, and the first and last of them that knew each name."""
    return msgspec.json.decode((FACTS / "engines" / engine / "index.json").read_bytes(), type=EngineIndex)


def versions(engine: EngineName) -> tuple[str, ...]:
    """Versions with a table, oldest first."""
    return table_index(engine).versions


@cache
def load_table(engine: EngineName, version: str | None = None) -> tuple[EngineTable, Msg | None]:
    """The table of a version, the newest where None; a version without one is served by the nearest older table, and the note says so.

    Raises UsageError where the version is no number or older than the oldest table.
    """
    known = versions(engine)
    if version is None:
        return _read(engine, known[-1]), None
    if not is_version(version):
        raise UsageError(msg("{version} is not a version number", version=version), msg("Write it as the engine prints it, for example 0.33.0."))
    asked = version.strip().removeprefix("v")
    if asked in known:
        return _read(engine, asked), None
    older = [v for v in known if at_least(asked, v)]
    if not older:
        raise UsageError(
            msg("{engine} {version} is older than the oldest version known here, {oldest}", engine=engine, version=asked, oldest=known[0]),
            msg("Name a version from {oldest} to {newest}.", oldest=known[0], newest=known[-1]),
        )
    if older[-1] == known[-1]:
        note = msg("{engine} {version} is newer than any version known here: read as {nearest}.", engine=engine, version=asked, nearest=older[-1])
    else:
        note = msg("{engine} {version} was not read: the nearest older version, {nearest}, stands in.", engine=engine, version=asked, nearest=older[-1])
    return _read(engine, older[-1]), note


def _read(engine: EngineName, version: str) -> EngineTable:
    packed = (FACTS / "engines" / engine / f"{version}.json.gz").read_bytes()
    return msgspec.json.decode(zlib.decompress(packed, GZIP), type=EngineTable)


def first_version_with(engine: EngineName, kind: Area, name: str) -> str | None:
    """The first version that knew a name and has a table, None where none did. The oldest table's version means "this one or an earlier one"."""
    span = table_index(engine).spans.get(kind, {}).get(name)
    return None if span is None else versions(engine)[span.first]


def last_version_with(engine: EngineName, kind: Area, name: str) -> str | None:
    """The last version that knew a name: the newest table's where it is still known, None where no table has it."""
    span = table_index(engine).spans.get(kind, {}).get(name)
    return None if span is None else versions(engine)[span.last]


def successors(engine: EngineName) -> Mapping[str, Successor]:
    """What replaced a flag, in the words with which some version deprecated it."""
    return table_index(engine).successors


def diff_tables(older: EngineTable, newer: EngineTable, replaced: Mapping[str, Successor] | None = None) -> TableDiff:
    """What changes from one table to the other; `replaced` (see `successors`) turns a removed flag into a renamed one."""
    changes = list(_flags(older, newer, replaced or {}))
    lists: tuple[tuple[Area, Iterable[str], Iterable[str]], ...] = (
        ("architecture", [a.name for a in older.architectures], [a.name for a in newer.architectures]),
        ("tool_parser", older.tool_parsers, newer.tool_parsers),
        ("reasoning_parser", older.reasoning_parsers, newer.reasoning_parsers),
        ("quantization", [q.name for q in older.quantizations], [q.name for q in newer.quantizations]),
        ("backend", [b.name for b in older.backends], [b.name for b in newer.backends]),
        ("kv_dtype", older.kv_dtypes, newer.kv_dtypes),
        ("speculative_method", older.speculative_methods, newer.speculative_methods),
        ("environment", older.environment, newer.environment),
        ("all2all_backend", older.all2all_backends, newer.all2all_backends),
    )
    for area, before, after in lists:
        changes += _names(area, before, after)
    for name in sorted(older.requires.keys() | newer.requires.keys()):
        before, after = older.requires.get(name), newer.requires.get(name)
        if before != after:
            kind = "added" if before is None else "removed" if after is None else "default"
            changes.append(Change(area="requires", kind=kind, name=name, before=before, after=after))
    return TableDiff(engine=newer.engine, older=older.version, newer=newer.version, changes=tuple(changes))


def _names(area: Area, before: Iterable[str], after: Iterable[str]) -> list[Change]:
    gone = [Change(area=area, kind="removed", name=n) for n in sorted(set(before) - set(after))]
    return gone + [Change(area=area, kind="added", name=n) for n in sorted(set(after) - set(before))]


def _flags(older: EngineTable, newer: EngineTable, replaced: Mapping[str, Successor]) -> Iterable[Change]:
    was = {f.name: f for f in older.flags}
    now = {n: f for f in newer.flags for n in (*f.aliases, f.name)}
    for name, flag in was.items():
        if name not in now:
            yield _gone(flag, now, replaced)
        else:
            yield from _changed(flag, now[name])
    seen = {n for f in older.flags for n in (*f.aliases, f.name)}
    for flag in newer.flags:
        if not seen & {flag.name, *flag.aliases}:
            yield Change(area="flag", kind="added", name=flag.name, after=flag.default)


def _gone(flag: Flag, now: Mapping[str, Flag], replaced: Mapping[str, Successor]) -> Change:
    kept = next((a for a in flag.aliases if a in now), None)
    if kept is not None:
        return Change(area="flag", kind="renamed", name=flag.name, to=now[kept].name)
    heir = replaced.get(flag.name)
    if heir is not None and heir.to.partition(".")[0] in now:
        return Change(area="flag", kind="renamed", name=flag.name, to=heir.to, note=heir.text)
    return Change(area="flag", kind="removed", name=flag.name, note=heir.text if heir else flag.deprecated or "")


def _changed(was: Flag, now: Flag) -> Iterable[Change]:
    if was.name != now.name:
        yield Change(area="flag", kind="renamed", name=was.name, to=now.name)
    if was.default != now.default or type(was.default) is not type(now.default):
        yield Change(area="flag", kind="default", name=was.name, before=was.default, after=now.default)
    lost, gained = sorted(set(was.choices) - set(now.choices)), sorted(set(now.choices) - set(was.choices))
    if (lost or gained) and was.choices and now.choices:
        yield Change(area="flag", kind="choices", name=was.name, lost=tuple(lost), gained=tuple(gained))
    if now.deprecated and not was.deprecated:
        yield Change(area="flag", kind="deprecated", name=was.name, note=now.deprecated)
