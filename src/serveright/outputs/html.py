"""A document as HTML: no script needed, nothing fetched, everything from outside escaped. Numbers that were derived open their derivation.

`document` is one self-contained file; the web page uses `block` with its own `Look`.
"""

import re
from collections.abc import Callable
from html import escape

from msgspec import Struct

from serveright.outputs.language import render
from serveright.outputs.text import filled_in, number, safe
from serveright.types.derivation import Derivation
from serveright.types.document import Block, Bullets, Cell, Chart, Code, Derivations, Document, Heading, Pairs, Paragraph, Table

STYLE = """
:root{color-scheme:light dark;--fg:light-dark(#1b1f24,#e6edf3);--bg:light-dark(#fff,#0d1117);--line:light-dark(#d0d7de,#30363d);--soft:light-dark(#f3f5f7,#161b22);
--good:light-dark(#1a7f37,#3fb950);--warn:light-dark(#8a5a00,#d29922);--bad:light-dark(#cf222e,#f85149)}
body{font:15px/1.55 system-ui,"Noto Sans KR","Noto Sans CJK KR",sans-serif;color:var(--fg);background:var(--bg);max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.r,th.r{text-align:right;font-variant-numeric:tabular-nums}pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:6px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dd{margin:0}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.dim{opacity:.75}.strong{font-weight:600}
details{margin:.4rem 0}summary{cursor:pointer}figure{margin:1rem 0}figure svg{max-width:100%;height:auto;background:#fff;border-radius:6px}
button.num{font:inherit;color:inherit;background:none;border:0;border-bottom:1px dotted;padding:0;cursor:help}
.why{max-width:34rem;border:1px solid var(--line);border-radius:8px;background:var(--bg);color:var(--fg);padding:.8rem 1rem}.why code{overflow-wrap:anywhere}
"""
_MARKED = re.compile("\ue000(\\d+)\ue001([^\ue002]*)\ue002")
SMALLEST = 1000
"""Whole numbers below this are counts that many derivations could share: they are not marked."""


def drawn(chart: Chart, lang: str) -> str:
    """Inline SVG with its text equivalent, or only that where nothing can draw."""
    from serveright.outputs import draw

    words = escape(safe(render(chart.alternative, lang)))
    if not draw.available():
        return f"<p>{words}</p>"
    return f'<figure role="img" aria-label="{words}">{draw.svg(draw.framed(chart, lang))}</figure>'


class Look(Struct, frozen=True, kw_only=True):
    """How blocks are shown: the language, who draws, and the derived numbers of the document with their ids."""

    lang: str
    draw: Callable[[Chart, str], str] = drawn
    derived: dict[float, int] = {}
    derivations: tuple[Derivation, ...] = ()

    def cell(self, value: Cell) -> str:
        """Escaped text; derived numbers become buttons that open their derivation."""
        text = escape(safe(render(value, self.lang, self.mark if self.derived else None)))
        return _MARKED.sub(lambda m: f'<button type="button" class="num" popovertarget="d{m[1]}">{m[2]}</button>', text)

    def mark(self, value: float, text: str) -> str:
        """The text between marks where the number was derived."""
        found = self.derived.get(value)
        return text if found is None else f"\ue000{found}\ue001{text}\ue002"


def look(doc: Document, lang: str, draw: Callable[[Chart, str], str] = drawn) -> Look:
    """A `Look` that knows the derivations of `doc`."""
    items = tuple(d for block in doc.blocks if isinstance(block, Derivations) for d in block.items)
    derived = {d.result: i for i, d in reversed(list(enumerate(items))) if abs(d.result) >= SMALLEST or d.result != int(d.result)}
    return Look(lang=lang, draw=draw, derived=derived, derivations=items)


def popovers(view: Look) -> str:
    """One hidden card a derivation, opened by its numbers."""
    return "".join(f'<div popover class="why" id="d{i}">{_derivation(d, view.lang)}</div>' for i, d in enumerate(view.derivations))


def _derivation(d: Derivation, lang: str) -> str:
    source = f' <span class="dim">[{escape(safe(d.source))}]</span>' if d.source else ""
    return (
        f"<p><strong>{escape(d.name)} = {number(d.result)} {escape(d.unit)}</strong></p><p><code>{escape(d.formula)}</code></p>"
        f"<p><code>= {escape(filled_in(d))}</code></p><p>{escape(safe(render(d.reason, lang)))}{source}</p>"
    )


def block(item: Block, view: Look) -> str:
    """One block as HTML, escaped."""
    cell = view.cell
    match item:
        case Heading():
            return f"<h{item.level}>{cell(item.text)}</h{item.level}>"
        case Paragraph():
            return f'<p class="{item.style}">{cell(item.text)}</p>'
        case Bullets():
            notes = [*(f' <small class="dim">{cell(s)}</small>' if s else "" for s in item.sources), *[""] * len(item.items)]
            return "<ul>" + "".join(f"<li>{cell(i)}{note}</li>" for i, note in zip(item.items, notes, strict=False)) + "</ul>"
        case Pairs():
            return "<dl>" + "".join(f"<dt>{cell(k)}</dt><dd>{cell(v)}</dd>" for k, v in item.items) + "</dl>"
        case Table():
            return _table(item, view)
        case Code():
            title = f'<p class="dim">{cell(item.title)}</p>' if item.title else ""
            return f'{title}<pre tabindex="0"><code>{escape(safe(item.text))}</code></pre>'
        case Derivations():
            if not item.items:
                return ""
            return "".join(
                f"<details><summary>{escape(d.name)} = {number(d.result)} {escape(d.unit)}</summary>{_derivation(d, view.lang)}</details>" for d in item.items
            )
        case Chart():
            return view.draw(item, view.lang)


def _table(item: Table, view: Look) -> str:
    def kind(column: int) -> str:
        return " class=r" if column in item.right else " class=k" if item.wide and column not in item.wide else ""

    def line(tag: str, cells: tuple[Cell, ...]) -> str:
        return "<tr>" + "".join(f"<{tag}{kind(i)}>{view.cell(c)}</{tag}>" for i, c in enumerate(cells)) + "</tr>"

    return f'<table tabindex="0"><thead>{line("th", item.columns)}</thead><tbody>{"".join(line("td", row) for row in item.rows)}</tbody></table>'


def document(doc: Document, lang: str) -> str:
    """The whole page."""
    title = escape(safe(render(doc.title, lang)))
    view = look(doc, lang)
    body = "\n".join(block(item, view) for item in doc.blocks)
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{title}</title><style>{STYLE}</style>"
    return f"<!doctype html>\n<html lang={lang}>{head}\n<h1>{title}</h1>\n{body}\n{popovers(view)}\n</html>\n"
