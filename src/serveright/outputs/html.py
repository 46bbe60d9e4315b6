"""A document as one self-contained HTML file: no script needed, nothing fetched, everything from outside escaped."""

from html import escape

from serveright.outputs.language import render
from serveright.outputs.text import number, safe
from serveright.types.document import Block, Bullets, Cell, Chart, Code, Derivations, Document, Heading, Pairs, Paragraph, Table

STYLE = """
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--line:#d0d7de;--soft:#f3f5f7;--good:#1a7f37;--warn:#9a6700;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--line:#30363d;--soft:#161b22;--good:#3fb950;--warn:#d29922;--bad:#f85149}}
body{font:15px/1.55 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.r,th.r{text-align:right;font-variant-numeric:tabular-nums}pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:6px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dd{margin:0}.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.dim{opacity:.7}.strong{font-weight:600}
details{margin:.4rem 0}summary{cursor:pointer}
"""


def block(item: Block, lang: str) -> str:
    """One block as HTML, escaped."""

    def cell(value: Cell) -> str:
        return escape(safe(render(value, lang)))

    match item:
        case Heading():
            return f"<h{item.level}>{cell(item.text)}</h{item.level}>"
        case Paragraph():
            return f'<p class="{item.style}">{cell(item.text)}</p>'
        case Bullets():
            notes = [*(f" <small class=dim>{cell(s)}</small>" for s in item.sources), *[""] * len(item.items)]
            return "<ul>" + "".join(f"<li>{cell(i)}{note}</li>" for i, note in zip(item.items, notes, strict=False)) + "</ul>"
        case Pairs():
            return "<dl>" + "".join(f"<dt>{cell(k)}</dt><dd>{cell(v)}</dd>" for k, v in item.items) + "</dl>"
        case Table():

            def line(tag: str, cells: tuple[Cell, ...]) -> str:
                return "<tr>" + "".join(f"<{tag}{' class=r' if i in item.right else ''}>{cell(c)}</{tag}>" for i, c in enumerate(cells)) + "</tr>"

            return f"<table><thead>{line('th', item.columns)}</thead><tbody>{''.join(line('td', row) for row in item.rows)}</tbody></table>"
        case Code():
            title = f"<p class=dim>{cell(item.title)}</p>" if item.title else ""
            return f"{title}<pre><code>{escape(safe(item.text))}</code></pre>"
        case Derivations():
            return "".join(
                f"<details><summary>{escape(d.name)} = {number(d.result)} {escape(d.unit)}</summary><p><code>{escape(d.formula)}</code></p>"
                f"<p>{escape(', '.join(f'{k} = {number(v)}' for k, v in d.values.items()))}</p><p>{cell(d.reason)} <span class=dim>{escape(d.source)}</span></p></details>"
                for d in item.items
            )
        case Chart():
            return f"<p>{cell(item.alternative)}</p>"


def document(doc: Document, lang: str) -> str:
    """The whole page."""
    title = escape(safe(render(doc.title, lang)))
    body = "\n".join(block(item, lang) for item in doc.blocks)
    return f"<!doctype html>\n<html lang={lang}><meta charset=utf-8><meta name=viewport content='width=device-width'><title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>\n{body}\n</html>\n"
