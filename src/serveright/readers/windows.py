"""Line continuations of PowerShell and cmd written as a shell's, every character in its place.

Knows only line ends; nothing of commands.
"""

import re

_BACKTICK = re.compile(r"(?<=[ \t])`(?=[ \t]*\r?$)", re.MULTILINE)
_CARET = re.compile(r"(?<=[ \t])\^(?=[ \t]*\r?$)", re.MULTILINE)
_BLANKS = re.compile(r"\\[ \t]+(?=\r?$)", re.MULTILINE)
_POWERSHELL, _CMD = frozenset({"ps1", "psm1", "powershell", "pwsh"}), frozenset({"bat", "cmd", "batch"})


def continued(text: str, kind: str) -> str:
    """The text with `\\` where PowerShell continues by a backtick and cmd by a caret; `kind` is a file's ending or a fence's language.

    A caret at a line's end means nothing to a shell, so it is read as a continuation anywhere.
    """
    kind = kind.lower()
    found = _BACKTICK.sub(r"\\", text) if kind in _POWERSHELL else text
    found = _CARET.sub(r"\\", found)
    if found is text and kind not in _POWERSHELL | _CMD:
        return text
    return _BLANKS.sub(lambda match: " " * (len(match[0]) - 1) + "\\", found)
