"""A config as people read it: pretty-printed, long lists folded, the lines that tell something marked."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

LONGEST_LIST, LONGEST_VALUE = 12, 400


class Line(Struct, frozen=True, kw_only=True):
    """One line: its text, and the index of the evidence it carries, None for most."""

    number: int
    text: str
    says: int | None = None


def lines(config: dict[str, Any], paths: Sequence[str]) -> list[Line]:
    """All lines; `paths` are the JSON paths of the evidence, dots between keys."""
    at = {path: i for i, path in enumerate(paths)}
    return [Line(number=number, text=text, says=at.get(path)) for number, (path, text) in enumerate(_written(config, "", 0, "", ""), 1)]


def _written(value: object, path: str, depth: int, head: str, tail: str) -> Iterator[tuple[str, str]]:
    """(path, text) line by line; closing brackets have no path."""
    pad = "  " * depth
    items = list(cast("dict[str, object]", value).items()) if isinstance(value, dict) else []
    if not items:
        yield path, f"{pad}{head}{_short(cast('object', value))}{tail}"
        return
    yield path, f"{pad}{head}{{"
    for i, (key, item) in enumerate(items, 1):
        yield from _written(item, f"{path}.{key}" if path else key, depth + 1, f"{json.dumps(key, ensure_ascii=False)}: ", "," if i < len(items) else "")
    yield "", f"{pad}}}{tail}"


def _short(value: object) -> str:
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(items) > LONGEST_LIST:
            return f"[{', '.join(map(_short, items[:LONGEST_LIST]))}, … {len(items)} in all]"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + " …"
