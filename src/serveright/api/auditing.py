"""Read somebody else's command against the model, the GPU and the engine's version. Nothing in an audited file is run, nothing is fetched unless asked."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from serveright.api.commands import Ask, facts_of, read, reader
from serveright.catalog.own import existing, is_plain_file, refuse_utf16
from serveright.errors import InputError, os_reason
from serveright.readers.dump import ENDINGS, SKIPPED
from serveright.readers.launch import MAX_BYTES
from serveright.readers.suppressions import Suppression, read_suppressions
from serveright.rules import explain as explaining
from serveright.rules import repair as repairing
from serveright.rules.context import Context
from serveright.rules.run import audit_command, unused
from serveright.types.audit_reports import AuditReport, Deployed, FixedFile
from serveright.types.command import LaunchCommand
from serveright.types.report import Finding
from serveright.types.text import Msg, msg

READ_ENDINGS = ENDINGS | {".ps1", ".bat", ".cmd", ".conf", ".ini"}
MANY, CHUNK = 256, 32
"""Files from which processes are worth their start, and files a process takes at once."""
MOST_REREAD = 16 << 20
"""Characters of one file that its correction may read again, once for each command."""


def audit(paths: Iterable[str], asked: Ask | None = None, *, fix: bool = False, unsafe_fixes: bool = False, allow_none: bool = False) -> AuditReport:
    """Findings over every engine start in files, folders or stdin (`-`).

    Raises UserError for a path that cannot be read, and where nothing was found to audit unless `allow_none` makes that an empty report.
    """
    work = partial(_audit_file, asked=asked or Ask(), fix=fix, unsafe_fixes=unsafe_fixes)
    parts = list(_spread(work, list(_files(paths))))
    unread = tuple(u for part in parts for u in part.unread)
    if not allow_none and not any(part.deployments for part in parts):
        if unread:
            raise InputError(unread[0], msg("Nothing was audited: no command could be read."))
        raise InputError(
            msg("no vLLM or SGLang start was found"),
            msg("Give a file with a launch command, a manifest, or - for stdin; --engine vllm also reads the engine's own YAML configuration."),
        )
    return AuditReport(
        deployments=tuple(d for part in parts for d in part.deployments),
        findings=tuple(f for part in parts for f in part.findings),
        unread=unread,
        fixed=tuple(f for part in parts for f in part.fixed),
    )


class _File(Struct, frozen=True):
    """A path to read; one found in a folder may turn out unreadable, one the user named may not."""

    name: str
    inside: bool = False


def _files(paths: Iterable[str]) -> Iterator[_File]:
    """Every path given, folders walked in order, without version control and environments."""
    for name in paths:
        path = existing(name)
        if name != "-" and path is not None and path.is_dir():
            yield from (_File(str(file), inside=True) for file in sorted(_walk(path)))
        else:
            yield _File(name)


def _spread(work: Callable[[_File], AuditReport], files: list[_File]) -> Iterator[AuditReport]:
    """The reports in order; many files share all cores."""
    cores = os.cpu_count() or 1
    if len(files) < MANY or cores == 1 or any(file.name == "-" for file in files):
        yield from map(work, files)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(cores) as pool:
        yield from pool.map(work, files, chunksize=CHUNK)


def _audit_file(file: _File, asked: Ask, *, fix: bool, unsafe_fixes: bool) -> AuditReport:
    try:
        raw = content(file.name)
    except InputError as error:
        if not file.inside:
            raise
        return AuditReport(deployments=(), findings=(), unread=(error.message,), fixed=())
    return audit_text(raw, file.name, asked, fix=fix, unsafe_fixes=unsafe_fixes)


def content(name: str) -> bytes:
    """A file's bytes, or stdin's. Raises InputError."""
    return _limited(sys.stdin.buffer, "-") if name == "-" else _bytes(Path(name))


def _bytes(file: Path) -> bytes:
    try:
        mode = file.stat().st_mode
        # a pipe of the shell (`<(...)`) has its writer; a named one may wait for ever
        if (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and not str(file).startswith(("/dev/", "/proc/")):
            raise InputError(msg("{path} is no file but a pipe or socket", path=str(file)), msg("Give a file, a folder, or - for stdin."))
        with file.open("rb") as stream:
            return _limited(stream, str(file))
    except OSError as error:
        way_out = msg("Give a file or folder; a command goes through a pipe: echo 'vllm serve MODEL' | serveright audit -")
        raise InputError(msg("{path} cannot be read: {why}", path=str(file), why=os_reason(error)), way_out) from error


def _limited(stream: BinaryIO, name: str) -> bytes:
    # a device has no end, and its size says 0
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InputError(msg("{path} is too long: files up to {limit:gib} are read", path=name, limit=MAX_BYTES))
    refuse_utf16(raw, name)
    return raw


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix.lower() in READ_ENDINGS and not SKIPPED.intersection(path.relative_to(folder).parts) and is_plain_file(path):
            yield path


def audit_text(raw: bytes, file: str, asked: Ask, *, fix: bool = False, unsafe_fixes: bool = False) -> AuditReport:
    """The audit of one file's content. A real file's `--config` beside it is read too."""
    path = existing(file) if asked.local and file != "-" else None
    reading = reader(asked).file(path) if path is not None and path.is_file() else read(raw, file, asked)
    text = raw.decode("utf-8-sig", errors="replace")
    suppressions = read_suppressions(text, file)
    contexts = [Context.of(command, facts_of(command, asked)) for command in reading.commands]
    everything = [finding for context in contexts for finding in audit_command(context, asked.select, asked.ignore)]
    # only where every rule could be asked is a suppression that meets nothing an idle one
    told = not asked.select and not asked.ignore and all(one.facts.gpu is not None and one.shape is not None for one in contexts)
    idle = unused([one for one in suppressions if told or not one.reason], everything)
    kept = [f for f in everything if not any(one.covers(f) for one in suppressions)] + idle
    return AuditReport(
        deployments=tuple(deployed(context, asked) for context in contexts),
        findings=tuple(kept),
        unread=tuple(msg("{file}: {why}", file=file, why=why) for why in reading.unread),
        fixed=(_fix(text, file, asked, suppressions, unsafe=unsafe_fixes),) if fix and contexts else (),
    )


def deployed(context: Context, asked: Ask) -> Deployed:
    """One start as the report names it."""
    command = context.command
    explained = explaining.explain(context) if asked.explain_all else explaining.Explained((), ())
    return Deployed(
        engine=command.engine,
        version=context.version,
        version_known=command.engine_version is not None,
        model=asked.model or command.model,
        model_known=context.facts.shape is not None,
        checkpoint_known=context.facts.shape is None or context.facts.checkpoint is not None,
        gpu=context.facts.gpu.key if context.facts.gpu else command.gpu,
        gpu_count=context.facts.gpu_count,
        location=command.location,
        unread=command.unread,
        present=explained.present,
        absent=explained.absent,
    )


def _fix(text: str, file: str, asked: Ask, suppressions: list[Suppression], *, unsafe: bool) -> FixedFile:
    """The file with every command's edits made, one command after the other, each read again after the one before."""
    before, applied = text, 0
    left: list[Msg] = []
    count = len(read(text.encode(), file, asked).commands)
    if count * len(text) > MOST_REREAD:
        left.append(msg("{count:n} commands in one file of this size are too many to correct: split it", count=count))
        count = 0
    for place in range(count):
        command = read(text.encode(), file, asked).commands[place]
        findings = audit_command(Context.of(command, facts_of(command, asked)), asked.select, asked.ignore, suppressions)
        done = repairing.repair(text, repairing.edits_of(findings, unsafe=unsafe), _rereader(file, asked, place))
        text, applied = done.text, applied + len(done.applied)
        left += [why for _, why in done.left]
    return FixedFile(file=file, text=text, diff=repairing.diff(before, text, file), applied=applied, left=tuple(left))


def _rereader(file: str, asked: Ask, place: int) -> Callable[[str], LaunchCommand | None]:
    def again(changed: str) -> LaunchCommand | None:
        commands = read(changed.encode(), file, asked).commands
        return commands[place] if place < len(commands) else None

    return again


def worst_at_least(findings: Iterable[Finding], fail_on: str) -> bool:
    """A finding at or above `fail_on` (error, warning, note; `never` is never reached)."""
    order = ("error", "warning", "note")
    return fail_on in order and any(order.index(f.severity) <= order.index(fail_on) for f in findings)
