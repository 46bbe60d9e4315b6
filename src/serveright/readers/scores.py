"""A user's own quality scores: a CSV of `model,score`, or a TOML table `[scores]`. What they measure is the user's business."""

from math import isfinite
from typing import Any, cast

from serveright.catalog.own import own_csv, own_toml, read_own_text
from serveright.errors import InputError
from serveright.types.text import Msg, msg

FORM = msg('Write one `org/model,score` a line, or a TOML table [scores] with "org/model" = number.')


def read_scores(path: str) -> dict[str, float]:
    """Model id -> score, higher is better. Raises InputError naming the line or key."""
    text = read_own_text(path, FORM)
    found = _toml(path, text) if path.endswith(".toml") else _csv(path, text)
    if not found:
        raise InputError(msg("{path}: holds no score", path=path), FORM)
    return found


def _toml(path: str, text: str) -> dict[str, float]:
    table = own_toml(text, path, FORM).get("scores", {})
    entries = cast("dict[str, Any]", table) if isinstance(table, dict) else {}
    return {name: _number(path, msg("key {key}", key=name), value) for name, value in entries.items()}


def _csv(path: str, text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for number, cells in enumerate(own_csv(text, path, FORM), 1):
        if len(cells) < 2 or not cells[0] or cells[0].startswith("#") or (number == 1 and cells[1].lower() == "score"):
            continue
        found[cells[0]] = _number(path, msg("line {n}", n=number), cells[1])
    return found


def _number(path: str, place: Msg, value: object) -> float:
    try:
        number = float(cast("Any", value))
        if not isfinite(number):
            raise ValueError(value)
        return number
    except (TypeError, ValueError) as error:
        raise InputError(msg("{path}, {place}: {value} is no number", path=path, place=place, value=str(value)[:80]), FORM) from error
