"""systemd units and supervisor programs -> shell-like command texts with their environment; `%i` and EnvironmentFile stay unread."""

import re
from collections.abc import Iterator

from serveright.readers.placed import Placed, join
from serveright.types.command import Word
from serveright.types.report import Location
from serveright.types.text import Msg, msg

_ASSIGNMENT = re.compile(r"""(?:"([A-Za-z_]\w*)=([^"]*)"|'([A-Za-z_]\w*)=([^']*)'|([A-Za-z_]\w*)=(\S*))""")


def is_unit(text: str) -> bool:
    """A text with a `[Service]` section and a start line, or one of supervisor's programs."""
    if re.search(r"^\[program:", text, re.MULTILINE) is not None and re.search(r"^command\s*=\s*[^\"'\s]", text, re.MULTILINE) is not None:
        return True
    return re.search(r"^\[Service\]", text, re.MULTILINE) is not None and re.search(r"^Exec\w+\s*=", text, re.MULTILINE) is not None


def commands(text: str, file: str) -> Iterator[tuple[Placed, dict[str, Word], list[Msg]]]:
    """(command text, environment, unread) of every `ExecStart=`, `ExecStartPre=` and supervisor's `command=` line."""
    env: dict[str, Word] = {}
    unread: list[Msg] = []
    starts: list[Placed] = []
    for key, value in _entries(text, file):
        if key == "Environment":
            env.update(_assignments(value))
        elif key == "EnvironmentFile":
            unread.append(msg("environment file {path} was not read", path=value.text.strip()))
        elif key == "environment":
            env.update(_assignments(value))
        elif key == "command" or key.startswith("ExecStart"):
            skip = len(value.text) - len(value.text.lstrip(" @-:+!|"))
            starts.append(value.cut(skip, len(value.text)))
    for start in starts:
        yield start, env, unread


def _entries(text: str, file: str) -> Iterator[tuple[str, Placed]]:
    """`Key=value` with continuation lines joined, comments between them dropped."""
    whole = Placed.whole(text, file)
    parts: list[Placed] = []
    key = ""
    offset = 0
    for line in text.splitlines(keepends=True):
        start, offset = offset, offset + len(line)
        bare = line.rstrip("\r\n")
        if bare.lstrip().startswith(("#", ";")):
            continue
        if not parts:
            name, equals, _ = bare.partition("=")
            if not equals or not name.strip().isalnum():
                continue
            key = name.strip()
            start += len(name) + 1
        continued = bare.endswith("\\")
        end = offset - (len(line) - len(bare)) - (1 if continued else 0)
        parts.append(whole.cut(start, max(start, end)))
        if continued:
            parts.append(Placed(" ", file, [(0, whole.at(end).line, whole.at(end).column)]))
            continue
        yield key, join(parts, file)
        parts = []
    if parts:
        yield key, join(parts, file)


def _assignments(value: Placed) -> dict[str, Word]:
    found: dict[str, Word] = {}
    for match in _ASSIGNMENT.finditer(value.text):
        index = next(number for number in (1, 3, 5) if match[number])
        here: Location = value.at(match.start(index + 1))
        found[match[index]] = Word(match[index + 1], here, "%" not in match[index + 1])
    return found
