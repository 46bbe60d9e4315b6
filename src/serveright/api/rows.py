"""One piece of a fleet -> its rows. This is the function to hand to Ray Data, Spark or any other engine: plain data in, plain data out.

The same command with the same surroundings is judged once a process: fleets repeat themselves.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from serveright import __version__
from serveright.api.commands import Ask, facts_of, read
from serveright.catalog.gpus import load_gpu
from serveright.errors import UserError
from serveright.readers.dump import Piece
from serveright.readers.suppressions import Suppression, read_suppressions
from serveright.rules.context import Context
from serveright.rules.run import audit_command
from serveright.types.command import LaunchCommand
from serveright.types.fleet import Row, RowFinding
from serveright.types.report import Finding, Location, Severity

KEPT = 4096
"""Judged commands a process remembers."""
ORDER: tuple[Severity, ...] = ("error", "warning", "note")
STOPPING = frozenset({"certain", "likely"})


class Judged(Struct, frozen=True):
    """What rules and sizing say of a command, whatever file it stands in. `findings` with the index of the place they point at (`_places`)."""

    findings: tuple[tuple[Finding, int], ...]
    version: str
    gpu: str | None
    price: float | None
    needed: int
    """GPUs one copy of the layout uses."""


_judged: dict[bytes, Judged] = {}


def fingerprint(piece: Piece, asked: Ask) -> str:
    """Changes with the piece's content and name, the release of this program, and what was asked."""
    told = msgspec.json.encode((__version__, piece.key, piece.line, asked))
    return hashlib.blake2b(told + piece.raw, digest_size=12).hexdigest()


def audit_file(name: str, content: bytes | str, asked: Ask | None = None) -> list[dict[str, Any]]:
    """The rows of one file or manifest as plain dictionaries; [] where no engine is started."""
    raw = content.encode() if isinstance(content, str) else content
    piece = Piece(name, name, raw)
    asked = asked or Ask()
    return [msgspec.to_builtins(row) for row in rows_of(piece, fingerprint(piece, asked), asked)]


def audit_chunk(chunk: Sequence[tuple[Piece, str]], asked: Ask) -> bytes:
    """JSON lines of several pieces, in their order."""
    encode = msgspec.json.encode
    return b"".join(encode(row) + b"\n" for piece, digest in chunk for row in rows_of(piece, digest, asked))


def rows_of(piece: Piece, digest: str, asked: Ask) -> list[Row]:
    """One row for each engine start of a piece."""
    reading = read(piece.raw, piece.file, asked)
    if not reading.commands:
        return []
    suppressions = read_suppressions(piece.raw.decode("utf-8-sig", errors="replace"), piece.file)
    parts = len(reading.commands)
    return [_row(piece, digest, asked, command, suppressions, part, parts) for part, command in enumerate(reading.commands)]


def _row(piece: Piece, digest: str, asked: Ask, command: LaunchCommand, suppressions: list[Suppression], part: int, parts: int) -> Row:
    judged = _judge(command, asked)
    places = _places(command)
    found = [msgspec.structs.replace(finding, location=places[index]) for finding, index in judged.findings]
    kept = [finding for finding in found if not any(one.covers(finding) for one in suppressions)]
    worst = _worst(kept)
    gpus = None if command.gpu_count is None else command.gpu_count * command.nodes * command.copies
    lost = _lost(kept, command, judged, gpus)
    return Row(
        piece=piece.key,
        part=part,
        parts=parts,
        digest=digest,
        file=piece.file,
        line=_line(command.location.line, piece),
        engine=command.engine,
        version=command.engine_version,
        model=asked.model or command.model,
        gpu=judged.gpu,
        gpus=gpus,
        copies=command.copies,
        worst=worst,
        findings=tuple(RowFinding(code=f.code, severity=f.severity, effect=f.effect, flag=f.flag, line=_line(f.location.line, piece)) for f in kept),
        lost_gpus=lost,
        affected_gpus=float(gpus or 0) if worst in ("error", "warning") else 0.0,
        lost_usd_per_hour=None if judged.price is None else lost * judged.price,
        unread=len(command.unread),
    )


def _worst(findings: Sequence[Finding]) -> Severity | None:
    found = {finding.severity for finding in findings}
    for severity in ORDER:
        if severity in found:
            return severity
    return None


def _line(line: int, piece: Piece) -> int:
    return line + piece.line - 1 if line else 0


def _judge(command: LaunchCommand, asked: Ask) -> Judged:
    key = _signature(command, asked)
    judged = _judged.get(key)
    if judged is None:
        context = Context.of(command, facts_of(command, asked))
        places = _places(command)
        judged_now = audit_command(context, asked.select, asked.ignore)
        findings = tuple((finding, places.index(finding.location) if finding.location in places else 0) for finding in judged_now)
        gpu = context.facts.gpu
        judged = Judged(
            findings, context.version, gpu.key if gpu else command.gpu, _price(gpu.key) if gpu else None, context.layout.gpus * context.layout.replicas
        )
        if len(_judged) >= KEPT:
            _judged.clear()
        _judged[key] = judged
    return judged


def _signature(command: LaunchCommand, asked: Ask) -> bytes:
    """All that a verdict may depend on: everything but places, names and the number of copies."""
    flags = [(flag.written, flag.value, flag.literal) for flag in command.flags]
    env = sorted((name, word.text, word.literal) for name, word in command.env.items())
    words = [(word.text, word.literal) for word in command.words]
    said = (
        command.engine,
        command.engine_version,
        command.model,
        flags,
        env,
        words,
        command.image,
        command.gpu,
        command.gpu_count,
        command.nodes,
        command.role,
        command.entry,
        len(command.unread),
    )
    return msgspec.json.encode((said, asked))


def _places(command: LaunchCommand) -> list[Location]:
    """Every place of a command, in an order that depends on its words alone: the same place in the next file with the same command."""
    found = [command.location, command.model_location or command.location]
    for flag in command.flags:
        found += [flag.location, flag.value_location or flag.location]
    found += [word.location for word in command.words]
    return found + [word.location for _, word in sorted(command.env.items())]


def _lost(findings: Sequence[Finding], command: LaunchCommand, judged: Judged, gpus: int | None) -> float:
    """All GPUs of a deployment that will not start; else those nobody uses. Slowness is not counted as loss: its size is not known here."""
    if not gpus or command.gpu_count is None:
        return 0.0
    if any(f.severity == "error" and f.effect == "crash" and f.confidence in STOPPING for f in findings):
        return float(gpus)
    if any(not flag.literal for flag in command.flags) or command.role != "aggregated":
        return 0.0
    idle = command.gpu_count * command.nodes - judged.needed
    return float(max(0, idle) * command.copies)


@cache
def _price(gpu: str) -> float | None:
    try:
        return load_gpu(gpu).price_usd_per_hour
    except UserError:
        return None
