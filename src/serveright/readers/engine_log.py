"""A server's log, of any size, read once in constant memory: known lines, memory figures, periodic figures, the last errors.

Tolerates gzip (truncated too), container and timestamp prefixes, colours, several ranks, binary junk and lines without end. Nothing in a log is obeyed.
"""

import gzip
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from serveright.errors import InputError, os_reason
from serveright.readers.log_lines import Needle, needles
from serveright.readers.log_series import SeriesOf, periodic
from serveright.readers.refusals import refusal
from serveright.types.diagnosis import LogReading, Sign
from serveright.types.text import Msg, msg

BLOCK = 1 << 20
"""Bytes looked at together."""
LONGEST = 2000
"""Characters of a line that are kept."""
KEPT = 20
"""Signs of one key, and error lines, that are kept; more are counted only."""
SHAPES = 50_000
"""Shapes of lines that are remembered."""
_VARYING = b"0123456789abcdef"
Progress = Callable[[int, int], None]
"""Called with bytes read and bytes in all (0 where unknown)."""

_ANSI = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_PROMPT = re.compile(rb"(Received request [^\n]{0,160}?prompt: |Receive: obj=|Finish: obj=)[^\n]*")
"""A logged request: what users wrote says nothing about the server, whatever error texts it quotes."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERROR = re.compile(rb"""(?m)^.*?(?:\b(?:[A-Za-z_.]*(?:Error|Exception)|error): |Value error, |["']message["']: ?["']).*$""")
_EMPTY_ERROR = re.compile(rb"(?m)^.*?\b(?:[A-Za-z_.]*Error|AssertionError)$")


def read_log(path: Path, progress: Progress | None = None) -> LogReading:
    """One log file, `.gz` by content. Raises InputError where it cannot be opened."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return read_stream(file, str(path), progress, size)
    except OSError as error:
        raise InputError(msg("{path} cannot be read: {why}", path=str(path), why=os_reason(error)), msg("Give an existing log file.")) from error


def read_text(text: str, source: str) -> LogReading:
    """A log that is already in memory."""
    log = _Log(source)
    raw = text.encode()
    for start in range(0, len(raw), BLOCK):
        log.add(raw[start : start + BLOCK])
    return log.done()


def read_stream(file: BinaryIO, source: str, progress: Progress | None = None, size: int = 0) -> LogReading:
    """A log from an open binary file or a pipe, compressed or not."""
    log = _Log(source)
    head = file.read(2)
    ahead = _Ahead(head, file)
    done = 0
    for block in _unzipped(ahead, log.notes) if head == b"\x1f\x8b" else iter(lambda: ahead.read(BLOCK), b""):
        log.add(block)
        done += len(block)
        if progress is not None and size:
            progress(ahead.taken, size)
    return log.done()


class _Ahead:
    """A stream whose first bytes were looked at; pipes cannot go back."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file, self.taken = head, file, 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most `size`."""
        block = self._head or self._file.read(size)
        self._head = b""
        self.taken += len(block)
        return block


def _unzipped(file: _Ahead, notes: list[Msg]) -> Iterator[bytes]:
    """What can be unpacked; a truncated or damaged archive ends early and is said."""
    with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:  # pyright: ignore[reportArgumentType, reportCallIssue]
        while True:
            try:
                block = unpacked.read1(BLOCK)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                notes.append(msg("the archive is damaged or cut off ({why}); what came before was read", why=str(error)))
                return
            if not block:
                return
            yield block


def clean(raw: bytes) -> str:
    """A line as harmless text: no colours, no control characters, clipped."""
    return _CONTROL.sub("", _ANSI.sub(b"", raw[: 4 * LONGEST]).decode("utf-8", "replace"))[:LONGEST].strip()


class _Log:
    """Everything kept while a log goes by."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.signs: dict[str, list[Sign]] = {}
        self.counts: dict[str, int] = {}
        self.errors: dict[str, Sign] = {}
        self.series: dict[str, SeriesOf] = {}
        self.notes: list[Msg] = []
        self.engines: dict[str, int] = {}
        self.arguments: str | None = None
        self.lines = 0
        self.bytes = 0
        self._rest = b""
        self._told: set[tuple[str, int]] = set()
        """Facts and their lines in the block at hand: several wordings of a fact may stand in one line."""
        self._shapes: dict[bytes, bool] = {}
        """Lines without digits and hexadecimal letters -> whether they told anything."""

    def add(self, block: bytes) -> None:
        """Takes the next bytes; whole lines are looked at, the rest waits."""
        self.bytes += len(block)
        text = self._rest + block
        cut = text.rfind(b"\n") + 1
        if not cut and len(text) > BLOCK:
            cut = len(text)  # a line longer than a block is cut
        self._rest = text[cut:]
        self._look(text[:cut])

    def done(self) -> LogReading:
        """The reading."""
        self._look(self._rest)
        if self.bytes and not self.lines:
            self.lines = 1
        if not self.signs and not self.errors and self.bytes:
            self.notes.append(msg("{source} holds no line that vLLM or SGLang is known to write", source=self.source))
        engine = max(self.engines, key=lambda name: self.engines[name], default=None)
        self._refused(engine)
        facts = {key: found[-1] for key, found in self.signs.items() if found}
        return LogReading(
            source=self.source,
            engine=engine,
            version=_version(facts),
            signs=tuple(_counted(found[0], self.counts[key]) for key, found in self.signs.items()),
            facts=facts,
            series={name: series.done() for name, series in self.series.items()},
            errors=tuple(self.errors.values()),
            arguments=self.arguments,
            started="ready" in self.signs or "running" in self.series,
            lines=self.lines,
            bytes=self.bytes,
            notes=tuple(self.notes),
        )

    def _refused(self, engine: str | None) -> None:
        """Errors no known line explains, where they are words of the engine's own checks."""
        told = {sign.line for found in self.signs.values() for sign in found}
        for error in self.errors.values():
            found = None if error.line in told else refusal(str(error.text), engine)
            if found is not None:
                key = f"refused_{found.topic}"
                self.counts[key] = self.counts.get(key, 0) + 1
                self.signs.setdefault(key, []).append(replace(error, key=f"log:{key}", numbers={"module": found.module}))

    def _look(self, text: bytes) -> None:
        if not text:
            return
        if b"\x1b" in text:
            text = _ANSI.sub(b"", text)
        if b"eceive" in text:
            text = _PROMPT.sub(rb"\1", text)
        for name, value in periodic(text):
            series = self.series.get(name)
            if series is None:
                series = self.series[name] = SeriesOf()
            series.add(value)
        lines = text.split(b"\n")
        shapes = text.translate(None, _VARYING).split(b"\n")
        fresh = [i for i, shape in enumerate(shapes) if self._shapes.get(shape, True)]
        if fresh:
            self._search(lines, shapes, fresh)
        self.lines += len(lines) - 1

    def _search(self, lines: list[bytes], shapes: list[bytes], fresh: list[int]) -> None:
        """Looks at lines of a shape that is new, or that told something before; a serving log repeats a few shapes for gigabytes."""
        text = b"\n".join(lines[i] for i in fresh)
        starts = [0, *accumulate(len(lines[i]) + 1 for i in fresh)]
        if len(self._shapes) > SHAPES:
            self._shapes.clear()
        telling: set[bytes] = set()

        def place(at: int, tells: bool = True) -> int:
            found = fresh[bisect_right(starts, at) - 1]
            if tells:
                telling.add(shapes[found])
            return self.lines + found + 1

        self._told.clear()
        words = set(text.split())
        for needle in needles():
            at = text.find(needle.text) if needle.anchor is None or needle.anchor in words else -1
            often = needle.line.fact and needle.line.key not in _EVERY
            while at >= 0:
                end = _line_end(text, at)
                self._found(needle, text, at, end, place(at, not often or self.counts.get(needle.line.key, 0) < KEPT))
                at = text.find(needle.text, end)
        self._errors(text, place)
        self._shapes.update((shapes[i], shapes[i] in telling) for i in fresh)

    def _found(self, needle: Needle, text: bytes, at: int, end: int, number: int) -> None:
        key = needle.line.key
        if (key, number) in self._told:
            return
        if self.counts.get(key, 0) > KEPT and key not in _EVERY:
            self.counts[key] += 1
            self._told.add((key, number))
            return
        line = clean(text[text.rfind(b"\n", 0, at) + 1 : end])
        match = needle.pattern.search(line) if needle.pattern else None
        if needle.pattern is not None and match is None:
            return
        self._told.add((key, number))
        self.counts[key] = self.counts.get(key, 0) + 1
        if needle.engine != "common":
            self.engines[needle.engine] = self.engines.get(needle.engine, 0) + 1
        if key == "arguments" and self.arguments is None:
            self.arguments = clean(text[at:end])
        kept = self.signs.setdefault(key, [])
        if len(kept) >= KEPT:
            kept.pop(1)
        numbers = {name: value for pattern in (needle.pattern, *needle.numbers) for name, value in _groups(pattern, line)}
        kept.append(Sign(key=f"log:{key}", source=self.source, line=number, text=line, numbers=numbers))

    def _errors(self, text: bytes, place: Callable[[int], int]) -> None:
        for pattern in (_ERROR, _EMPTY_ERROR) if b"rror" in text or b"Exception" in text else ():
            for match in pattern.finditer(text):
                line = clean(match[0])
                stem = re.sub(r"\d+", "0", line[-160:])
                self.errors.pop(stem, None)
                self.errors[stem] = Sign(key="log:error", source=self.source, line=place(match.start()), text=line)
                if len(self.errors) > KEPT:
                    del self.errors[next(iter(self.errors))]


_EVERY = frozenset({"weights", "available", "kv_tokens", "concurrency", "kv_allocated", "limits", "arguments"})
"""Facts of which the last one counts: every one is looked at."""


def _line_end(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _groups(pattern: re.Pattern[str] | None, line: str) -> Iterator[tuple[str, float | str]]:
    match = pattern.search(line) if pattern is not None else None
    for name, value in match.groupdict().items() if match else ():
        if value is None:
            continue
        bare = value.replace(",", "")
        yield name, float(bare) if re.fullmatch(r"-?\d+(\.\d+)?", bare) else value


def _version(facts: dict[str, Sign]) -> str | None:
    version = facts["starting"].numbers.get("version") if "starting" in facts else None
    return None if version is None else str(version)


def _counted(sign: Sign, count: int) -> Sign:
    return Sign(key=sign.key, source=sign.source, line=sign.line, text=sign.text, count=count, numbers=sign.numbers)
