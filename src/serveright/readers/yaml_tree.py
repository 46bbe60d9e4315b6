"""YAML nodes with places, bounded: cycles, bombs of anchors and absurd depth end in a message, never in a hang.

Knows nothing of Kubernetes, compose or engines.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import yaml

from serveright.readers.placed import Placed
from serveright.types.command import Word
from serveright.types.report import Location
from serveright.types.text import Msg, msg

MAX_VISITS = 200_000
MAX_DEPTH = 64
_MERGE = "tag:yaml.org,2002:merge"

Node = yaml.Node


_CONTROL = re.compile(r"^[ \t]*\{\{-?[^\n]*-?\}\}[ \t]*$", re.MULTILINE)
"""A line that holds nothing but a template's own statement."""


def documents(text: str) -> tuple[list[Node], list[Msg]]:
    """The documents of a YAML text; a malformed one ends the list with a message. Of a chart's template the lines that only steer it are left out."""
    found, unread = _documents(text)
    if unread and "{{" in text:
        again, more = _documents(_CONTROL.sub("", text))
        return (again, more) if not more else (found, unread)
    return found, unread


def _documents(text: str) -> tuple[list[Node], list[Msg]]:
    loader: Any = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
    found: list[Node] = []
    try:
        found.extend(node for node in cast("Iterator[Node | None]", yaml.compose_all(text, Loader=loader)) if node is not None)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        return found, [msg("line {line}: not readable as YAML: {why}", line=line, why=str(error.problem)[:200])]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return found, [msg("not readable as YAML: {why}", why=str(error)[:200])]
    return found, []


def pairs(node: Node | None) -> Iterator[tuple[str, Node, Node]]:
    """(key, key node, value node) of a mapping, own keys first, then what `<<` merges in."""
    yield from _pairs(node, set())


def _pairs(node: Node | None, merging: set[int]) -> Iterator[tuple[str, Node, Node]]:
    if not isinstance(node, yaml.MappingNode) or id(node) in merging:
        return
    merging.add(id(node))
    seen: set[str] = set()
    merged: list[Node] = []
    for key, value in node.value:
        if key.tag == _MERGE:
            merged.extend(value.value if isinstance(value, yaml.SequenceNode) else [value])
        elif isinstance(key, yaml.ScalarNode):
            seen.add(key.value)
            yield key.value, key, value
    for other in merged:
        for name, key, value in _pairs(other, merging):
            if name not in seen:
                seen.add(name)
                yield name, key, value


def get(node: Node | None, *path: str) -> Node | None:
    """The value under a path of keys; None where a step is missing."""
    for name in path:
        node = _value(node, name)
        if node is None:
            return None
    return node


def _value(node: Node | None, name: str) -> Node | None:
    """The first value of a key, own keys before merged ones."""
    if not isinstance(node, yaml.MappingNode):
        return None
    merges = False
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.tag == _MERGE:
                merges = True
            elif key.value == name:
                return value
    return next((value for key, _, value in pairs(node) if key == name), None) if merges else None


def items(node: Node | None) -> list[Node]:
    """The items of a list; [] for anything else."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def text(node: Node | None) -> str | None:
    """A scalar's text; None for anything else and for null."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value)


def place(node: Node, file: str) -> Location:
    """Where a node begins; block scalars begin at their first line of text."""
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return Location(file, node.start_mark.line + 2, 1)
    inside = 1 if isinstance(node, yaml.ScalarNode) and node.style in ("'", '"') else 0
    return Location(file, node.start_mark.line + 1, node.start_mark.column + 1 + inside)


def word(node: Node, file: str) -> Word:
    """A scalar as one placed word."""
    return Word(text(node) or "", place(node, file))


def placed(node: Node, lines: list[str], file: str) -> Placed:
    """A scalar's text in which every line keeps its place in the file (block scalars: indentation counted)."""
    value = text(node) or ""
    if not isinstance(node, yaml.ScalarNode) or node.style not in ("|", ">"):
        start = place(node, file)
        return Placed(value, file, _anchors_of_flow(value, lines, start))
    first = node.start_mark.line + 1
    raw = lines[first : node.end_mark.line + (1 if node.end_mark.column else 0)]
    indent = min((len(line) - len(line.lstrip(" ")) for line in raw if line.strip()), default=0)
    pieces = [line[indent:] for line in raw]
    joiner = "\n"
    if node.style == ">":  # folded lines are one line of shell
        joiner = " "
    content = joiner.join(pieces)
    anchors: list[tuple[int, int, int]] = []
    offset = 0
    for number, piece in enumerate(pieces):
        anchors.append((offset, first + number + 1, indent + 1))
        offset += len(piece) + 1
    return Placed(content, file, anchors or [(0, first + 1, 1)])


def _anchors_of_flow(value: str, lines: list[str], start: Location) -> list[tuple[int, int, int]]:
    """Anchors of a plain or quoted scalar that may run over several lines: each word is looked up where it stands."""
    anchors = [(0, start.line, start.column)]
    if start.line == 0 or start.line > len(lines) or value == lines[start.line - 1][start.column - 1 : start.column - 1 + len(value)]:
        return anchors
    line, column, offset = start.line - 1, start.column - 1, 0
    for piece in value.split(" "):
        stripped = piece.strip()
        if stripped:
            found = _find(lines, line, column, stripped)
            if found is not None:
                line, column = found
                anchors.append((offset + piece.index(stripped), line + 1, column + 1))
                column += len(stripped)
        offset += len(piece) + 1
    return anchors if anchors[1:] and anchors[1][0] > 0 else anchors[1:] or anchors


def _find(lines: list[str], line: int, column: int, piece: str) -> tuple[int, int] | None:
    for number in range(line, min(line + 3, len(lines))):
        at = lines[number].find(piece, column if number == line else 0)
        if at >= 0:
            return number, at
    return None


def walk(root: Node) -> Iterator[tuple[Node, tuple[str, ...], tuple[Node, ...]]]:
    """Every mapping below a node with its path of keys and its ancestors, outermost first; stops quietly at the bounds."""
    stack: list[tuple[Node, tuple[str, ...], tuple[Node, ...]]] = [(root, (), ())]
    visits = 0
    while stack and visits < MAX_VISITS:
        node, path, above = stack.pop()
        visits += 1
        if len(above) > MAX_DEPTH or any(node is other for other in above):
            continue
        if isinstance(node, yaml.MappingNode):
            yield node, path, above
            stack.extend(reversed([(value, (*path, name), (*above, node)) for name, _, value in pairs(node)]))
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(reversed([(value, path, (*above, node)) for value in node.value]))


def plain(node: Node | None) -> Any:
    """A node as Python data (text, numbers, booleans, lists, dicts); what lies beyond the bounds is None."""
    return _plain(node, 0, [20_000])


def _plain(node: Node | None, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if depth > 16 or budget[0] < 0:
        return None
    if isinstance(node, yaml.MappingNode):
        return {name: _plain(value, depth + 1, budget) for name, _, value in pairs(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(value, depth + 1, budget) for value in node.value[: max(budget[0], 0)]]
    if not isinstance(node, yaml.ScalarNode):
        return None
    return _scalar(node)


def _scalar(node: yaml.ScalarNode) -> Any:
    kind, value = node.tag.rsplit(":", 1)[-1], node.value
    if kind == "null":
        return None
    if kind == "bool":
        return value.lower() in ("true", "yes", "on")
    try:
        if kind == "int":
            return int(value.replace("_", ""), 0)
        if kind == "float":
            return float(value.replace("_", ""))
    except ValueError:
        return value
    return value
