"""A document as terminal text: tables that know Korean is two cells wide, colour only on request, stable in pipes."""

import re
import unicodedata
from collections.abc import Iterable

import msgspec

from serveright.outputs.language import render
from serveright.types.derivation import Derivation
from serveright.types.document import Block, Bullets, Cell, Chart, Code, Derivations, Document, Heading, Pairs, Paragraph, Style, Table

_ANSI: dict[Style, str] = {"plain": "", "good": "32", "warn": "33", "bad": "31", "dim": "2", "strong": "1"}
NARROWEST = 16
"""Cells below which a column of words is not read any more."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def safe(text: str) -> str:
    """Text from outside, with terminal control characters shown instead of obeyed."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def width(text: str) -> int:
    """Terminal cells of a text."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrap(text: str, columns: int) -> list[str]:
    """Lines of at most `columns` cells, broken at spaces, or inside a word that is longer than a line."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            candidate = f"{line} {word}" if line else word
            if width(candidate) <= columns:
                line = candidate
                continue
            if line:
                lines.append(line)
            while width(word) > columns:
                cut = max(1, next((i for i in range(len(word), 0, -1) if width(word[:i]) <= columns), 1))
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    return lines


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`columns` 0: never wrap (pipes)."""

    lang: str = "en"
    color: bool = False
    columns: int = 0
    explain: bool = False


def _paint(text: str, style: Style, options: Options) -> str:
    return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if options.color and _ANSI[style] and text else text


def _cell(cell: Cell, options: Options) -> str:
    return safe(render(cell, options.lang))


def _flow(text: str, options: Options, indent: str = "", hang: str = "") -> list[str]:
    if not options.columns:
        return [indent + text]
    lines = wrap(text, max(20, options.columns - len(indent)))
    return [(indent if i == 0 else indent + hang) + line for i, line in enumerate(lines)]


def _pad(text: str, size: int, right: bool) -> str:
    gap = " " * max(0, size - width(text))
    return gap + text if right else text + gap


def _table(table: Table, options: Options) -> list[str]:
    head = [_cell(c, options) for c in table.columns]
    rows = [[_cell(c, options) for c in row] for row in table.rows]
    sizes = [max((width(r[i]) for r in [head, *rows]), default=0) for i in range(len(head))]
    if options.columns:
        room = options.columns - 2 * (len(sizes) - 1)
        narrow(sizes, table.wide, room)
        if sum(sizes) > room:
            return _stacked(head, rows, options)
    lines = [_paint("  ".join(_pad(h, s, i in table.right) for i, (h, s) in enumerate(zip(head, sizes, strict=True))).rstrip(), "strong", options)]
    for row in rows:
        cells = [wrap(text, size) if size and width(text) > size else [text] for text, size in zip(row, sizes, strict=True)]
        for n in range(max(len(c) for c in cells)):
            line = (_pad(c[n] if n < len(c) else "", s, i in table.right) for i, (c, s) in enumerate(zip(cells, sizes, strict=True)))
            lines.append("  ".join(line).rstrip())
    return lines


def narrow(sizes: list[int], wide: tuple[int, ...], room: int) -> None:
    """Takes what is too much from the widest of the `wide` columns, so that those left over its width share alike; none below `NARROWEST`."""
    while sum(sizes) > room:
        widest = max((sizes[i] for i in wide), default=0)
        if widest <= NARROWEST:
            return
        next_one = max((sizes[i] for i in wide if sizes[i] < widest), default=NARROWEST)
        equal = [i for i in wide if sizes[i] == widest]
        cut = min(widest - max(next_one, NARROWEST), -(-(sum(sizes) - room) // len(equal)))
        for i in equal:
            sizes[i] -= max(1, cut)


def _stacked(head: list[str], rows: list[list[str]], options: Options) -> list[str]:
    """A table too wide for the terminal, one field a line."""
    lines: list[str] = []
    for row in rows:
        lines += [part for label, text in zip(head, row, strict=True) if text for part in _flow(f"{label}: {text}", options, "", "  ")]
        lines.append("")
    return lines[:-1]


def _pairs(pairs: Pairs, options: Options) -> list[str]:
    items = [(_cell(k, options), _cell(v, options)) for k, v in pairs.items]
    size = max((width(k) for k, _ in items), default=0)
    lines: list[str] = []
    for key, value in items:
        flowed = _flow(value, msgspec.structs.replace(options, columns=max(20, options.columns - size - 2) if options.columns else 0))
        lines += [f"{_pad(key if i == 0 else '', size, False)}  {part}" for i, part in enumerate(flowed)]
    return lines


def number(value: float) -> str:
    """A number inside a derivation: thousands separated, no needless digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1e9 else f"{value:,.10g}"


def filled_in(item: Derivation) -> str:
    """The formula with its numbers put in."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: number(item.values[m[0]]) if m[0] in item.values else m[0], item.formula)


def worked(item: Derivation) -> str:
    """`numbers put in = result unit`, or the result alone where nothing had to be put in."""
    put_in, result = filled_in(item), f"{number(item.result)} {item.unit}".rstrip()
    return result if put_in == number(item.result) else f"{put_in} = {result}"


def _derivations(block: Derivations, options: Options) -> Iterable[str]:
    if not options.explain:
        return
    for item in block.items:
        yield from _flow(f"{item.name} = {item.formula}", options, "  ", "    ")
        yield from _flow(f"= {worked(item)}", options, "    ", "  ")
        source = f" [{item.source}]" if item.source else ""
        yield from _flow(_cell(item.reason, options) + source, options, "    ")


def _bullets(block: Bullets, options: Options) -> list[str]:
    lines: list[str] = []
    for i, item in enumerate(block.items):
        lines += _flow(f"- {_cell(item, options)}", options, "", "  ")
        if options.explain and i < len(block.sources) and block.sources[i]:
            lines += [_paint(line, "dim", options) for line in _flow(f"[{safe(block.sources[i])}]", options, "  ", "")]
    return lines


def _block(block: Block, options: Options) -> list[str]:
    match block:
        case Heading():
            return ["", _paint(_cell(block.text, options), "strong", options)]
        case Paragraph():
            return [_paint(line, block.style, options) for line in _flow(_cell(block.text, options), options)]
        case Bullets():
            return _bullets(block, options)
        case Pairs():
            return _pairs(block, options)
        case Table():
            return _table(block, options)
        case Code():
            title = [_paint(_cell(block.title, options), "dim", options)] if block.title else []
            return [*title, *(safe(line) for line in block.text.split("\n"))]
        case Derivations():
            return list(_derivations(block, options))
        case Chart():
            return []  # the figures stand beside it in words; --plot draws


def document(doc: Document, options: Options) -> str:
    """The whole report, ending in one newline."""
    lines = [_paint(_cell(doc.title, options), "strong", options)]
    for block in doc.blocks:
        lines += _block(block, options)
    return "\n".join(lines).strip("\n") + "\n"
