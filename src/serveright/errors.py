"""What a user can mend. Everything else is our own fault and shows a traceback.

UserError
  UsageError       a flag or argument is wrong
  InputError       a file, key or value cannot be read
  Infeasible       the question is sound and the answer is that nothing does it
  UnknownName      a GPU, model, engine, topic or rule nobody knows (with suggestions)
  NetworkError     the Hub or a server could not be reached
"""

import difflib
import errno
from collections.abc import Iterable
from typing import Any

from serveright.types.text import Msg, msg

LONGEST_SHOWN = 200
"""Characters of a wrong name that a message repeats."""
MOST_LISTED = 40
"""More known names than this are not listed in a message."""

_REASONS: dict[int, Msg] = {
    errno.ENOENT: msg("no such file or folder"),
    errno.EACCES: msg("not permitted"),
    errno.EPERM: msg("not permitted"),
    errno.EISDIR: msg("it is a folder"),
    errno.ENOTDIR: msg("a part of the path is no folder"),
    errno.ENOSPC: msg("the disk is full"),
    errno.EROFS: msg("the disk is read-only"),
    errno.ESRCH: msg("no such process"),
    errno.EADDRINUSE: msg("the address is taken"),
    errno.ECONNREFUSED: msg("nothing listens there"),
}
"""What the system refuses most, in words that can be translated."""


def os_reason(error: OSError) -> Msg | str:
    """Why the system refused: one of the usual reasons, else its own words. An error of urllib carries that of the system."""
    inner = error.args[0] if error.args else None
    if error.errno is None and isinstance(inner, OSError):
        return os_reason(inner)
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


class UserError(Exception):
    """One message that names the file, key or flag and value, and one way out. The command exits with 2."""

    def __init__(self, message: Msg, fix: Msg | None = None) -> None:
        super().__init__(message.template)
        self.message = message
        self.fix = fix

    def __reduce__(self) -> tuple[Any, ...]:
        """Carries the message between processes, whatever a subclass is made from."""
        return _again, (type(self), self.args), self.__dict__


def _again(kind: type[UserError], args: tuple[Any, ...]) -> UserError:
    return kind.__new__(kind, *args)


class UsageError(UserError):
    """A flag or argument is wrong."""


class InputError(UserError):
    """A file, key or value cannot be read."""


class Infeasible(UserError):
    """The question is sound; no GPUs, layout or copy at hand does what is asked. The command exits with 1."""


class NetworkError(UserError):
    """The Hub or a server could not be reached."""


class UnknownName(UserError):
    """A name nobody knows; suggests the nearest known ones, else all where they are few, else the command that lists them (`listed`)."""

    def __init__(self, what: Msg, name: str, known: Iterable[str], listed: str = "") -> None:
        names, name = sorted(known), name[:LONGEST_SHOWN]
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        fix = msg("Did you mean {names}?", names=", ".join(near)) if near else None
        if fix is None and 0 < len(names) <= MOST_LISTED:
            fix = msg("Known are: {names}.", names=", ".join(names))
        elif fix is None and listed:
            fix = msg("All of them: {command}", command=listed)
        super().__init__(msg("Unknown {what}: {name}", what=what, name=name), fix)
        self.suggestions = tuple(near)
