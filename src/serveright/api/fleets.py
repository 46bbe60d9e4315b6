"""Audit a fleet: pieces to worker processes, rows to a file as they come, nothing kept but counts.

The row file is its own memory: a run that was killed goes on where it stopped, and a later run audits only what changed.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from serveright.api.commands import Ask
from serveright.api.rows import audit_chunk, fingerprint
from serveright.errors import InputError, os_reason
from serveright.readers.dump import Piece, pieces
from serveright.readers.launch import MAX_BYTES
from serveright.types.fleet import Row
from serveright.types.text import Msg, msg

CHUNK = 64
"""Pieces a worker takes at once: large enough to hide the hand-over, small enough that a kill loses little."""
IN_FLIGHT = 3
"""Chunks per worker under way; more would only hold memory."""


class Run(Struct, frozen=True, kw_only=True):
    """What a run did: rows lie in `rows`."""

    rows: Path
    pieces: int
    audited: int
    reused: int
    notes: tuple[Msg, ...] = ()
    """What was left out, and why."""


class Known(Struct, frozen=True):
    """Pieces of an earlier row file: key -> digest, and the rows' places for copying."""

    digests: dict[str, str]
    places: dict[str, tuple[int, int]]
    """Digest -> (offset, length) of the piece's lines."""
    file: Path


def run(paths: Iterable[str], rows: Path, asked: Ask | None = None, *, jobs: int | None = None, previous: Path | None = None, fresh: bool = False) -> Run:
    """Audit everything under `paths` into `rows` (JSON lines), reusing what `rows` and `previous` already hold. Raises UserError.

    `jobs` None: one process a core; 1: in this process.
    """
    asked = asked or Ask()
    own = Known({}, {}, rows) if fresh else known(rows, repair=True)
    if fresh:
        rows.unlink(missing_ok=True)
    before = known(previous) if previous else None
    seen: dict[str, str] = {}
    counts = {"audited": 0, "reused": 0}
    notes: list[Msg] = []
    with _opened(rows) as sink:

        def waiting() -> Iterator[tuple[Piece, str]]:
            for piece in _distinct(_readable(pieces(paths), notes), seen):
                digest = fingerprint(piece, asked)
                seen[piece.key] = digest
                if own.digests.get(piece.key) == digest:
                    counts["reused"] += 1
                elif before is not None and before.digests.get(piece.key) == digest:
                    counts["reused"] += 1
                    sink.write(_lines_at(before, digest))
                else:
                    yield piece, digest

        for done, lines in _audited(waiting(), asked, jobs or os.cpu_count() or 1):
            counts["audited"] += done
            sink.write(lines)
    _compact(rows, seen)
    return Run(rows=rows, pieces=len(seen), audited=counts["audited"], reused=counts["reused"], notes=tuple(notes))


def _readable(found: Iterable[Piece], notes: list[Msg]) -> Iterator[Piece]:
    """One file out of thousands does not end the run: it is left out, and said to be."""
    for piece in found:
        if len(piece.raw) <= MAX_BYTES:
            yield piece
        else:
            notes.append(msg("{path} is left out: files up to {limit:gib} are read", path=piece.file, limit=MAX_BYTES))


def _distinct(found: Iterable[Piece], seen: dict[str, str]) -> Iterator[Piece]:
    """The same object twice in the input keeps two rows."""
    for piece in found:
        number, key = 1, piece.key
        while key in seen:
            number += 1
            key = f"{piece.key}~{number}"
        yield piece if number == 1 else msgspec.structs.replace(piece, key=key)


def _opened(rows: Path) -> BinaryIO:
    try:
        return rows.open("ab", buffering=0)  # a kill leaves whole writes, or one torn line that `known` cuts off
    except OSError as error:
        raise InputError(msg("{path}: cannot be written ({why})", path=str(rows), why=os_reason(error))) from error


def _audited(waiting: Iterator[tuple[Piece, str]], asked: Ask, jobs: int) -> Iterator[tuple[int, bytes]]:
    """(pieces done, their lines) in the order they finish."""
    if jobs == 1:
        while chunk := list(islice(waiting, CHUNK)):
            yield len(chunk), audit_chunk(chunk, asked)
        return
    with ProcessPoolExecutor(jobs) as pool:
        under_way: dict[Future[bytes], int] = {}
        while True:
            while len(under_way) < jobs * IN_FLIGHT and (chunk := list(islice(waiting, CHUNK))):
                under_way[pool.submit(audit_chunk, chunk, asked)] = len(chunk)
            if not under_way:
                return
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), future.result()


def read_rows(file: Path) -> Iterator[Row]:
    """The rows of a row file, one by one. Raises InputError where a line is none."""
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                yield _row(line, number, file)
    except OSError as error:
        raise InputError(msg("{path} cannot be read: {why}", path=str(file), why=os_reason(error))) from error


def known(file: Path, *, repair: bool = False) -> Known:
    """The complete pieces of a row file; `repair` cuts off what a kill left half written. Raises InputError for any other file."""
    found = Known({}, {}, file)
    if not file.exists():
        return found
    good = offset = start = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                break
            row = _row(line, number, file)
            if row.part == 0:
                start = offset
            offset += len(line)
            if row.part == row.parts - 1:
                found.digests[row.piece] = row.digest
                found.places[row.digest] = (start, offset - start)
                good = offset
    if repair and good < file.stat().st_size:
        with file.open("r+b") as torn:
            torn.truncate(good)
    return found


def _row(line: bytes, number: int, file: Path) -> Row:
    try:
        return msgspec.json.decode(line, type=Row)
    except msgspec.MsgspecError as error:
        raise InputError(
            msg("{path}, line {line}: no row of a fleet ({why})", path=str(file), line=number, why=str(error)[:200]),
            msg("Give the rows that `serveright fleet` wrote."),
        ) from error


def _lines_at(known: Known, digest: str) -> bytes:
    offset, length = known.places[digest]
    with known.file.open("rb") as lines:
        lines.seek(offset)
        return lines.read(length)


def _compact(rows: Path, seen: dict[str, str]) -> None:
    """Leave one set of rows for each piece of this run: of changed pieces the newest, of vanished ones none."""
    have = known(rows)
    wanted = {key: digest for key, digest in seen.items() if have.digests.get(key) == digest}
    if sum(have.places[digest][1] for digest in wanted.values()) == rows.stat().st_size:
        return
    fresh = rows.with_name(rows.name + ".new")
    with fresh.open("wb") as sink, rows.open("rb") as source:
        for digest in wanted.values():
            offset, length = have.places[digest]
            source.seek(offset)
            sink.write(source.read(length))
    fresh.replace(rows)
