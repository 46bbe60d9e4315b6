"""Edits written back into the file they came from: only the touched words change, comments and formatting stay.

Knows how flags stand in shell text, YAML and JSON lists, Python lists and configuration files. What cannot be placed exactly is left and said.
"""

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from serveright.types.command import GivenFlag, LaunchCommand
from serveright.types.report import Edit, Finding, Location
from serveright.types.text import Msg, msg

Reread = Callable[[str], LaunchCommand | None]
"""Reads the changed text again and gives the same command."""
Style = Literal["shell", "list", "flow", "config"]
_UNQUOTED_END = re.compile(r"[\s,\]]")


class Repaired(Struct, frozen=True):
    """The new text, the edits in it, and those that were left with the reason."""

    text: str
    applied: tuple[Edit, ...]
    left: tuple[tuple[Edit, Msg], ...] = ()


class Span(Struct, frozen=True):
    """A word as it stands in the text, quotes included; `quote` is empty where there is none."""

    start: int
    end: int
    quote: str


def edits_of(findings: Iterable[Finding], *, unsafe: bool) -> list[tuple[Edit, ...]]:
    """The edits to make, one group a finding; groups with an unsafe edit only where asked for. Later groups on a flag already touched are dropped."""
    chosen: list[tuple[Edit, ...]] = []
    touched: set[str] = set()
    for finding in findings:
        names = {edit.flag for edit in finding.edits}
        if not finding.edits or (not unsafe and not all(edit.safe for edit in finding.edits)) or names & touched:
            continue
        touched |= names
        chosen.append(finding.edits)
    return chosen


def repair(text: str, groups: Sequence[tuple[Edit, ...]], reread: Reread) -> Repaired:
    """The text with every group applied in turn; a group that cannot be placed leaves the text as it was."""
    applied: list[Edit] = []
    left: list[tuple[Edit, Msg]] = []
    for group in groups:
        changed, problem = _apply_group(text, group, reread)
        if problem is None:
            text = changed
            applied.extend(group)
        else:
            left.extend((edit, problem) for edit in group)
    return Repaired(text, tuple(applied), tuple(left))


def diff(before: str, after: str, file: str) -> str:
    """A unified diff, empty where nothing changed."""
    name = file.lstrip("/")
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _apply_group(text: str, group: tuple[Edit, ...], reread: Reread) -> tuple[str, Msg | None]:
    command = reread(text)
    if command is None:
        return text, msg("the command cannot be found again")
    if len(group) == 2 and group[0].value is None and group[1].value is not None and not _given(command, group[1].flag):
        changed = _rename(text, command, group[0].flag, group[1])
        if changed is not None:
            return _checked(text, changed, group, reread)
    changed = text
    for edit in group:
        current = reread(changed)
        if current is None:
            return text, msg("the command cannot be found again")
        step = _apply(changed, current, edit)
        if step is None:
            return text, msg("its place in the file is not exact enough to edit")
        changed = step
    return _checked(text, changed, group, reread)


def _checked(before: str, after: str, group: tuple[Edit, ...], reread: Reread) -> tuple[str, Msg | None]:
    """The new text only where reading it again shows every edit done."""
    command = reread(after)
    if command is None:
        return before, msg("the changed file cannot be read again")
    for edit in group:
        found = _given(command, edit.flag)
        if (edit.value is None) == (found is not None) and not (
            edit.value is None and any(other.value is not None and other.flag == edit.flag for other in group)
        ):
            return before, msg("its place in the file is not exact enough to edit")
        if edit.value and found is not None and found.value != edit.value:
            return before, msg("its place in the file is not exact enough to edit")
    return after, None


def _given(command: LaunchCommand, name: str) -> GivenFlag | None:
    return next((flag for flag in reversed(command.flags) if name in (flag.written, flag.name)), None)


def _apply(text: str, command: LaunchCommand, edit: Edit) -> str | None:
    given = _given(command, edit.flag)
    if edit.value is None:
        return text if given is None else _remove(text, given)
    if given is None:
        return _add(text, command, edit)
    return text if edit.value == "" else _set(text, given, edit.value)


def _offset(text: str, place: Location) -> int | None:
    lines = text.split("\n")
    if not 1 <= place.line <= len(lines) or place.column < 1 or place.column > len(lines[place.line - 1]) + 1:
        return None
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1


def _word(text: str, place: Location | None) -> Span | None:
    """The word at a place: from its quote to the matching one, or to the next blank outside quotes."""
    start = None if place is None else _offset(text, place)
    if start is None or start >= len(text):
        return None
    before = text[start - 1] if start else ""
    if before in "'\"":
        end = start
        while end < len(text) and text[end] != before:
            end += 2 if text[end] == "\\" and before == '"' else 1
        return Span(start - 1, min(end + 1, len(text)), before)
    end, quote = start, ""
    while end < len(text):
        char = text[end]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif (char == "\\" and text[end + 1 : end + 2] == "\n") or (_UNQUOTED_END.match(char) and not (char in ",]" and _in_shell(text, start))):
            break
        end += 1
    return Span(start, end, "")


def _in_shell(text: str, start: int) -> bool:
    """An unquoted word that is no item of a bracketed list."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return "[" not in line


def _style(text: str, span: Span, given: GivenFlag | None) -> Style:
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if re.fullmatch(r"\s*-\s+", line):
        return "list"
    before = text[: span.start].rstrip()
    if span.quote and before.endswith(("[", ",")):
        return "flow"
    if re.search(r"\[[^\]\n]*$", line) and before.endswith(("[", ",")):
        return "flow"
    if given is not None and not line.strip() and not text.startswith("-", span.start):
        return "config"
    return "shell"


def _remove(text: str, given: GivenFlag) -> str | None:
    span = _word(text, given.location)
    if span is None or not _is_flag(text, span, given):
        return None
    style = _style(text, span, given)
    if style == "config":
        return _without_key(text, span)
    end = span.end
    if given.value_location is not None and "=" not in text[span.start : span.end]:
        value = _word(text, given.value_location)
        if value is None or value.start < span.end or not re.fullmatch(r"[\s,\\'\"-]*", text[span.end : value.start]):
            return None
        end = _last_value(text, value, given)
    return _cut(text, span.start, end, style)


def _last_value(text: str, first: Span, given: GivenFlag) -> int:
    """The end of a flag's value; several values of one flag follow each other."""
    end = first.end
    for piece in shlex.split(given.value or "")[1:] if " " in (given.value or "") and not first.quote else []:
        match = re.compile(r"[\s,\\'\"]*" + re.escape(piece) + r"['\"]?").match(text, end)
        if match is None:
            break
        end = match.end()
    return end


def _cut(text: str, start: int, end: int, style: Style) -> str:
    """The text without a span, and without what only led up to it."""
    if style == "list":
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        return text[:first] + ("" if last < 0 else text[last + 1 :])
    if style == "flow":
        after = re.compile(r"\s*,[ \t]*(\n[ \t]*)?").match(text, end)
        if after is not None:
            return text[:start] + text[after.end() :]
        return re.sub(r",\s*$", "", text[:start]) + text[end:]
    line_start = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t]*(\\?)[ \t]*(\n|$)").match(text, end)
    if not text[line_start:start].strip() and rest is not None:
        if rest[1]:  # a continuation line of its own
            return text[:line_start] + text[rest.end() :]
        before = text[:line_start].rstrip("\n").rstrip().removesuffix("\\").rstrip()
        return before + text[end:].lstrip(" \t")
    return text[:start].rstrip(" \t") + text[end:]


def _without_key(text: str, span: Span) -> str:
    """A configuration file without one key and the block below it."""
    first = text.rfind("\n", 0, span.start) + 1
    indent = span.start - first
    last = text.find("\n", span.end)
    while last >= 0:
        following = re.compile(r"([ \t]*)(\S?)").match(text, last + 1)
        if following is None or not following[2] or len(following[1]) <= indent:
            break
        last = text.find("\n", last + 1)
    return text[:first] + ("" if last < 0 else text[last + 1 :])


def _is_flag(text: str, span: Span, given: GivenFlag) -> bool:
    raw = text[span.start : span.end].strip("'\"")
    bare = given.written.lstrip("-")
    return raw.startswith((given.written, bare, bare.replace("-", "_")))


def _set(text: str, given: GivenFlag, value: str) -> str | None:
    span = _word(text, given.location)
    if span is None or not _is_flag(text, span, given):
        return None
    raw = text[span.start : span.end]
    if given.value_location is None:
        return text[: span.end] + " " + _quoted(value, "shell") + text[span.end :] if _style(text, span, given) == "shell" else None
    if "=" in raw and not raw.rstrip("'\"").endswith("="):
        head = raw[: raw.index("=") + 1]
        return text[: span.start] + head + (value if span.quote else _quoted(value, "shell")) + span.quote + text[span.end :]
    place = _word(text, given.value_location)
    if place is None:
        return None
    style = _style(text, span, given)
    new = f"{place.quote}{value}{place.quote}" if place.quote and place.quote not in value else _quoted(value, style)
    return text[: place.start] + new + text[place.end :]


def _rename(text: str, command: LaunchCommand, old: str, new: Edit) -> str | None:
    """A flag under its new name, in its old place."""
    given = _given(command, old)
    span = None if given is None else _word(text, given.location)
    if given is None or span is None or not _is_flag(text, span, given) or new.value is None:
        return None
    style = _style(text, span, given)
    raw = text[span.start : span.end]
    keeps = given.value is not None and new.value == given.value
    name = new.flag.lstrip("-") if style == "config" else new.flag
    if keeps or (new.value == "" and given.value is None):
        stripped = raw.lstrip("'\"")
        length = len(given.written.lstrip("-")) if style == "config" else len(given.written)
        return text[: span.start] + span.quote + name + stripped[length:] + text[span.end :]
    if given.value is None and style == "shell":
        return text[: span.start] + f"{new.flag} {_quoted(new.value, style)}" + text[span.end :]
    return None


def _add(text: str, command: LaunchCommand, edit: Edit) -> str | None:
    """A new flag behind the last one, written as its neighbours are."""
    neighbours = [flag for flag in command.flags if flag.location.file == command.location.file]
    last = max(neighbours, key=lambda flag: (flag.location.line, flag.location.column), default=None)
    anchor = last.location if last is not None else command.model_location
    span = _word(text, anchor)
    if span is None:
        return None
    end = span.end
    if last is not None and last.value_location is not None and "=" not in text[span.start : span.end]:
        value = _word(text, last.value_location)
        if value is None:
            return None
        end = _last_value(text, value, last)
    style = _style(text, span, last)
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    if style == "list":
        return text[:end] + _list_items(line, span, edit) + text[end:]
    if style == "flow":
        quote = span.quote or '"'
        items = [edit.flag] + ([edit.value] if edit.value else [])
        return text[:end] + "".join(f", {_in_quotes(item, quote)}" for item in items) + text[end:]
    if style == "config":
        tail = text.find("\n", end)
        tail = len(text) if tail < 0 else tail
        return text[:tail] + f"\n{line}{edit.flag.lstrip('-')}: {edit.value or 'true'}" + text[tail:]
    words = edit.flag + (f" {_quoted(edit.value, style)}" if edit.value else "")
    continued = not line.strip() and text[: span.start].rstrip().endswith("\\")
    return text[:end] + (f" \\\n{line}{words}" if continued else f" {words}") + text[end:]


def _list_items(line: str, span: Span, edit: Edit) -> str:
    quote = span.quote
    value = edit.value or ""
    items = [f"{quote}{edit.flag}{quote}"]
    if value:
        safe = quote or ('"' if re.fullmatch(r"[\d.eE+-]+|true|false|null|yes|no|on|off", value) or value[0] in "{[*&!|>'\"%@`" else "")
        items.append(f"'{value}'" if safe == '"' and '"' in value else f"{safe}{value}{safe}")
    return "".join(f"\n{line}{item}" for item in items)


def _in_quotes(item: str, quote: str) -> str:
    """An item of a bracketed list in its neighbours' quotes, or in the others where those stand in it."""
    if quote in item:
        quote = "'" if quote == '"' else '"'
    return f"{quote}{item}{quote}"


def _quoted(value: str, style: Style) -> str:
    if style == "shell":
        return shlex.quote(value)
    if style == "flow" or (style == "list" and re.fullmatch(r"[\d.]+|true|false", value)):
        return f'"{value}"' if '"' not in value else f"'{value}'"
    return value if re.fullmatch(r"[\w./:+-]+", value) else f"'{value}'"
