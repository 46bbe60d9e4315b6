"""`--watch FILE`: the command again whenever the file changes, until the user stops it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from serveright.cli.options import say, tell
from serveright.errors import InputError, UserError
from serveright.types.text import msg

PAUSE_S = 0.3


def repeat(file: str, run: Callable[[], None]) -> None:
    """Runs now and at every change of `file`; a faulty state is told and waited out. Ends by Ctrl-C. Raises InputError where there is no such file."""
    path = Path(file)
    if not path.exists():
        raise InputError(msg("--watch {file}: there is no such file", file=file))
    seen: tuple[int, int] | None = None
    while True:
        now = _state(path)
        if now is not None and now != seen:
            seen = now
            _once(run)
            sys.stderr.write(say(msg("watching {file}; Ctrl-C ends", file=file)) + "\n")
        time.sleep(PAUSE_S)


def _once(run: Callable[[], None]) -> None:
    if sys.stdout.isatty():
        click.clear()
    try:
        run()
    except UserError as error:
        tell(error)
    except SystemExit:
        pass  # the exit code of a "no" is of no use before the end


def _state(path: Path) -> tuple[int, int] | None:
    """Changes with every write; None while an editor replaces the file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size
