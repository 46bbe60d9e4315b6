"""The command in this process, as a user meets it: arguments in, exit code and two streams out, and what is wrong with them."""

import io
import json
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from msgspec import Struct

from serveright.cli.main import main

SECONDS = 20
"""Processor time one call may take."""
MEMORY = 3 << 30
"""Memory one call may add (written pages; what V8 only reserves does not count)."""
PYTHON = re.compile(
    r"Traceback|object has no|unhashable|subscriptable|invalid literal|could not convert|\[Errno|codec can't|index out of range|'NoneType'|object is not|"
    r"unsupported operand|not supported between|unexpected keyword|<class |<serveright|Struct\(|Msg\("
)
"""Words of Python's, not of a message for people."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Outcome(Struct, frozen=True):
    """What a call left behind. `crash` is the traceback of what is no exit."""

    code: int
    out: str
    err: str
    crash: str = ""


class TooSlow(BaseException):
    """The call ran longer than SECONDS."""


@contextmanager
def _bounded() -> Iterator[None]:
    """Ends what takes too long or too much; outside Linux the suite runs without."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TooSlow

    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before = signal.signal(signal.SIGVTALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def call(arguments: Sequence[str], stdin: bytes = b"") -> Outcome:
    """Run `serveright ARGUMENTS`."""
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.argv, sys.stdin, sys.stdout, sys.stderr = ["serveright", *arguments], io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"), out, err
    code, crash = 0, ""
    try:
        with warnings.catch_warnings(), _bounded():
            warnings.simplefilter("error")
            main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 99
    except (Exception, TooSlow):  # noqa: BLE001  a fuzzer reports whatever comes
        code, crash = 70, traceback.format_exc()
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
    texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return Outcome(code, texts[0], texts[1], crash)


def complaints(outcome: Outcome, arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Everything the contract forbids. `names`: what a refusal may name (files, keys, flags, values)."""
    if outcome.crash:
        return ["crash: " + outcome.crash]
    found: list[str] = []
    if outcome.code not in (0, 1, 2):
        found.append(f"exit code {outcome.code}")
    if outcome.code == 2:
        found += _refusal(outcome, names)
    elif "--json" in arguments and not {"-q", "--quiet", "--emit"} & {*arguments}:
        found += _json(outcome.out)
    # what a file holds must not steer a terminal
    if not {"--json", "always"} & {*arguments} and (hit := CONTROL.search(outcome.out + outcome.err)):
        found.append(f"control character {hit[0]!r} in the output")
    if PYTHON.search(outcome.err):
        found.append("words of Python in the message: " + outcome.err[:400])
    return found


def _refusal(outcome: Outcome, names: Sequence[str]) -> Iterator[str]:
    if outcome.out:
        yield "a refusal that prints a result"
    said = [line for line in outcome.err.splitlines() if line.startswith(("serveright:", "Error:"))]
    if len(said) != 1:
        yield f"{len(said)} messages: {outcome.err[:400]}"
    if len(outcome.err) > 3000 + max(map(len, names)):
        yield f"a message of {len(outcome.err)} characters"
    if not any(name in outcome.err for name in names):
        yield "names neither file, key nor flag: " + outcome.err[:400]


def _json(text: str) -> Iterator[str]:
    def constant(word: str) -> NoReturn:
        raise ValueError(word)

    try:
        schema = json.loads(text, parse_constant=constant).get("schema", "")
    except ValueError as error:
        yield f"the result is no JSON: {error}"
        return
    if not schema.startswith("serveright."):
        yield f"schema {schema!r}"
