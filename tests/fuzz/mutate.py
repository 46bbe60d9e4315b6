"""Ways in which an input may be wrong: its structure, its words, its bytes."""

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any

LONG = "x" * 100_000
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 3, 7, 2**31, 2**63, 10**30, 10**400, -(10**30), 0.5, 1.5, -0.0, 1e-300, 1e308, float("inf"), float("-inf"), float("nan"),
    "", " ", "0", "-1", "1e9", "nan", "auto", "None", "true", "1,2,x", "re:(", "re:(a+)+$", "*", "..", "/", "\x00", "\x1b[31mred", "\u202egnp", "한국어", "𝟛", "\ud800",
    "%s{0}{x:gib}", "{{ 7*7 }}", "{%", "<script>", "$(id)", "a\nb", "x" * 5000,
    [], [1], [0, 0], ["x"], [None], [[]], [{}], {}, {"a": 1}, {"": {}}, {"0": 0},
]  # fmt: skip
NUMBERS = ["0", "-1", "1", "3", "7", "1.5", "1e308", "1e-308", "nan", "inf", "-inf", "99999999999999999999", "1e999", "0x10", "1_000", "٣", "²", "true"]
WORDS = [
    "", "''", '"', "'", "$X", "${X:-8}", "$(touch x)", "--", "-", "=", ":", "{", "[", "]", "}", "#", "\\", "|", "&", "\t", "\x00", "\x1b[2J", "\u2028", "\ud800", "é", "한",
    "null", "~", "!!python/object:x", "&a", "*a", "<<", "---", "re:(", "(a+)+", "9" * 400, "a" * 3000, "[" * 300, "{" * 300, "(" * 300,
]  # fmt: skip


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found.append((value, key))
        _places(inner, found)
    return found


def _other_kind(rng: random.Random, value: Any) -> Any:
    """The same thing said wrongly, as people and exporters do."""
    if isinstance(value, bool) or value is None:
        return rng.choice([str(value), int(bool(value)), [value]])
    if isinstance(value, int | float):
        return rng.choice(
            [str(value), float(value) if abs(value) < 1e300 else 0.0, -value, value * 1000, value * 10**12, value + 1, value / 3, [value], {"value": value}]
        )
    if isinstance(value, str):
        return rng.choice([value.upper(), value * 50, value[: len(value) // 2], [value], {value: value}, value + "\n", " " + value, len(value)])
    if isinstance(value, list):
        return rng.choice(
            [
                value[: len(value) // 2],
                value * 40,
                value[::-1],
                dict(enumerate(map(str, value))),
                value[0] if value else 1,
                [*value, None],
                ",".join(map(str, value)),
            ]
        )
    return rng.choice([list(value), list(value.values()), str(value), {f"{k}_": v for k, v in value.items()}, {**value, "extra": value}])


def _one(rng: random.Random, root: Any, words: list[str]) -> None:
    places = _places(root, [])
    if not places:
        return
    inside, key = rng.choice(places)
    action = rng.randrange(8)
    if action == 0:
        del inside[key]
    elif action == 1:
        inside[key] = _other_kind(rng, inside[key])
    elif action == 2 and isinstance(inside, dict):
        inside[rng.choice(words)] = inside.pop(key)
    elif action == 3 and isinstance(inside, dict):
        inside[rng.choice(words)] = copy.deepcopy(inside[key])
    elif action == 4:
        other, place = rng.choice(places)
        try:
            inside[key] = copy.deepcopy(other[place])
        except (KeyError, IndexError):
            inside[key] = None
    elif action == 5:
        deep: Any = inside[key]
        for _ in range(rng.choice([2, 20, 70, 200])):
            deep = [deep] if rng.random() < 0.5 else {"a": deep}
        inside[key] = deep
    elif isinstance(inside, dict) and action == 6:
        inside[rng.choice(words)] = copy.deepcopy(rng.choice(JUNK))
    else:
        inside[key] = copy.deepcopy(rng.choice(JUNK))


def tree(rng: random.Random, value: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """One to four changes inside; `words` are keys that readers know."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice([1, 1, 2, 3, 4])):
        _one(rng, value, words)
    return value


def json_bytes(value: object) -> bytes:
    """As JSON, with what Python writes beyond it."""
    return json.dumps(value).encode("utf-8", "surrogatepass")


_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[A-Za-z_][\w.-]*|\S")


def _line(rng: random.Random, lines: list[str], n: int) -> None:
    action = rng.randrange(6)
    if action == 0:
        del lines[n]
    elif action == 1:
        lines.insert(n, lines[n])
    elif action == 2:
        other = rng.randrange(len(lines))
        lines[n], lines[other] = lines[other], lines[n]
    elif action == 3:
        lines[n] = rng.choice(WORDS) + lines[n]
    elif action == 4:
        lines[n] = lines[n].lstrip() if rng.random() < 0.5 else "  " + lines[n]
    else:
        lines[n] = (lines[n] + " ") * rng.choice([2, 50, 2000])


def _token(rng: random.Random, lines: list[str], n: int) -> None:
    tokens = list(_TOKEN.finditer(lines[n]))
    if not tokens:
        return
    hit = rng.choice(tokens)
    number = hit[0].lstrip("-")[:1].isdigit()
    new = rng.choice(NUMBERS) if number and rng.random() < 0.8 else rng.choice([rng.choice(WORDS), rng.choice(tokens)[0], hit[0] * 2, ""])
    lines[n] = lines[n][: hit.start()] + new + lines[n][hit.end() :]


def text(rng: random.Random, value: str) -> bytes:
    """One to five changes of lines and words."""
    lines = value.split("\n")
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        if not lines:
            break
        (_line if rng.random() < 0.35 else _token)(rng, lines, rng.randrange(len(lines)))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


_BYTES: list[Callable[[random.Random, bytes, int], bytes]] = [
    lambda _r, d, n: d[:n],
    lambda _r, d, n: d[n:],
    lambda _r, d, n: d[:n] + b"\x00" + d[n:],
    lambda _r, d, n: d[:n] + b"\xff\xfe" + d[n + 1 :],
    lambda _r, d, n: d[:n] + bytes([255 - d[n]]) + d[n + 1 :] if d else d,
    lambda _r, d, _n: b"\xef\xbb\xbf" + d,
    lambda _r, d, _n: d.replace(b"\n", b"\r\n"),
    lambda _r, d, _n: d.replace(b"\n", b"\r"),
    lambda _r, d, _n: d.decode("utf-8", "replace").encode("utf-16"),
    lambda _r, d, _n: d.decode("utf-8", "replace").encode("utf-16-le"),
    lambda _r, d, _n: d.decode("utf-8", "replace").encode("euc-kr", "replace"),
    lambda _r, d, n: d[:n] + d[n : n + 40] * 200 + d[n:],
    lambda _r, d, n: d[:n] + b"A" * 200_000 + d[n:],
    lambda _r, d, n: d[:n] + b"[" * 3000 + d[n:],
    lambda r, d, n: d[:n] + r.randbytes(30) + d[n:],
    lambda _r, _d, _n: b"",
    lambda _r, _d, _n: b"\x1f\x8b\x08\x00broken",
]


def raw(rng: random.Random, data: bytes) -> bytes:
    """One change of the bytes themselves."""
    return rng.choice(_BYTES)(rng, data, rng.randrange(max(len(data), 1)))


def spoil(rng: random.Random, data: bytes) -> bytes:
    """Bytes now and then, nothing mostly: what comes after a change of structure."""
    return raw(rng, data) if rng.random() < 0.12 else data


def any_text(rng: random.Random, data: bytes) -> bytes:
    """A text file, changed in words, or structure where it is JSON, or bytes."""
    if data[:1] == b"{" and rng.random() < 0.6:
        try:
            value = json.loads(data)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return spoil(rng, json_bytes(tree(rng, value, list(value) or ["a"])))
    if rng.random() < 0.15:
        return raw(rng, data)
    return spoil(rng, text(rng, data.decode("utf-8", "replace")))
