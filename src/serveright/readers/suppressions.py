"""`# serveright: ignore[CODE, CODE] reason` comments: where they stand and what they cover."""

import re

from msgspec import Struct

from serveright.types.report import Finding, Location

_COMMENT = re.compile(r"(?:#|//|;|REM)\s*serveright:\s*ignore(?:-file)?\[([A-Za-z0-9, -]+)\][ \t]*(.*)$", re.MULTILINE)


class Suppression(Struct, frozen=True):
    """Covers its own line and the next one that is no comment (`until`); a comment above everything else covers the file (`until` 0)."""

    codes: tuple[str, ...]
    reason: str
    location: Location
    until: int

    def matches(self, finding: Finding) -> bool:
        """Whether it means this finding, reason or not."""
        if finding.code not in self.codes or finding.location.file != self.location.file:
            return False
        return self.until == 0 or self.location.line <= finding.location.line <= self.until

    def covers(self, finding: Finding) -> bool:
        """Whether it takes this finding away: only with a reason."""
        return bool(self.reason) and self.matches(finding)


def read_suppressions(text: str, file: str) -> list[Suppression]:
    """The suppressions of a file, in order."""
    if "serveright" not in text:
        return []
    lines = text.splitlines()
    found: list[Suppression] = []
    for match in _COMMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - (text.rfind("\n", 0, match.start()) + 1) + 1
        codes = tuple(code.strip().upper().replace("-", "") for code in match[1].split(",") if code.strip())
        whole = "ignore-file" in match[0] or _only_comments(lines[: line - 1])
        found.append(Suppression(codes, match[2].strip(), Location(file, line, column), 0 if whole and _alone(lines[line - 1]) else _end(lines, line)))
    return found


def _alone(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", ";", "REM"))


def _only_comments(lines: list[str]) -> bool:
    return all(not line.strip() or _alone(line) or line.strip() == "---" for line in lines)


def _end(lines: list[str], line: int) -> int:
    """Last line covered: the comment's own, or where it stands alone the whole command that follows, continuations too."""
    if not _alone(lines[line - 1]):
        return line
    end = line
    while end < len(lines) and (not lines[end].strip() or _alone(lines[end])):
        end += 1
    while end < len(lines) and lines[end].rstrip().endswith("\\"):
        end += 1
    return min(end + 1, len(lines))
