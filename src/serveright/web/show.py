"""From a report's document to what a template prints: sections by heading, pictures as figures the page's script draws, numbers that open their derivation."""

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from serveright.outputs import draw, html
from serveright.outputs.charts import table
from serveright.outputs.language import render
from serveright.types.document import Chart, Derivations, Document, Heading
from serveright.types.text import Msg
from serveright.web.words import WORDS

CHARTS_END = "</div><!-- charts -->"
"""Neighbouring pictures stand side by side where there is room."""


class Section(Struct, frozen=True, kw_only=True):
    """What stands under one heading, as safe HTML."""

    id: str
    title: str
    body: Markup


class Page(Struct, frozen=True, kw_only=True):
    """A document ready for a template. `cards` holds the derivations that numbers open."""

    title: str
    sections: tuple[Section, ...]
    cards: Markup
    figures: int


def page(document: Document, lang: str, picture: Callable[[str, str], str]) -> Page:
    """`picture(name, ending)` gives the address of a picture's file."""
    view = html.look(document, lang, lambda chart, language: figure(chart, language, picture))
    sections: list[Section] = []
    title, parts = "", list[str]()

    def close() -> None:
        if parts:
            sections.append(Section(id=f"part-{len(sections)}", title=title, body=Markup("\n".join(parts))))

    for item in document.blocks:
        if isinstance(item, Heading) and item.level <= 2:
            close()
            title, parts = render(item.text, lang), []
        elif isinstance(item, Derivations):
            if item.items:
                parts.append(f'<details class="how"><summary>{escape(say(WORDS["how"], lang))}</summary>{html.block(item, view)}</details>')
        elif isinstance(item, Chart) and parts and parts[-1].endswith(CHARTS_END):
            parts[-1] = parts[-1].removesuffix(CHARTS_END) + html.block(item, view) + CHARTS_END
        elif isinstance(item, Chart):
            parts.append(f'<div class="charts">{html.block(item, view)}{CHARTS_END}')
        else:
            parts.append(html.block(item, view))
    close()
    return Page(
        title=render(document.title, lang),
        sections=tuple(sections),
        cards=Markup(html.popovers(view)),
        figures=len(draw.charts_of(document)),
    )


def say(text: Msg | str, lang: str) -> str:
    """Prose for a template."""
    return render(text, lang)


CONTROLS = {
    "context": "context", "concurrency": "concurrency", "rate": "rate", "input-tokens": "input", "output-tokens": "output", "ttft": "ttft", "tpot": "tpot",
    "gpu": "gpu", "gpus": "gpus", "engine": "engine", "model": "model", "objective": "objective",
}  # fmt: skip
"""Options of the command line -> words of the page's controls, which ask for the same."""
_OPTION = re.compile(rf"--({'|'.join(CONTROLS)})(?![\w-])")


def complaint(text: Msg | str, lang: str) -> str:
    """What a user got wrong, in the words of the page."""
    return _OPTION.sub(lambda match: f"“{say(WORDS[CONTROLS[match[1]]], lang)}”", say(text, lang))


def figure(chart: Chart, lang: str, picture: Callable[[str, str], str]) -> str:
    """A place for the script to draw in, and what serves readers without it: words, a table, files."""
    spec = draw.ready(chart, lang)
    words, title = escape(render(chart.alternative, lang)), escape(render(chart.title, lang))
    links = " ".join(f'<a href="{escape(picture(chart.name, end))}" download="{chart.name}.{end}">{end.upper()}</a>' for end in ("svg", "png", "csv"))
    data = json.dumps(spec, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure class="chart" data-name="{chart.name}"><figcaption>{title}</figcaption>'
        f'<div class="canvas" role="img" aria-label="{words}"><noscript><img src="{escape(picture(chart.name, "svg"))}" alt="{words}"></noscript></div>'
        f'<script type="application/json">{data}</script>'
        f'<details class="data"><summary>{escape(say(WORDS["table"], lang))}</summary>{_table(spec)}<p class="files">{links}</p></details></figure>'
    )


def _table(spec: dict[str, Any]) -> str:
    columns, rows = table.rows(spec)
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f'<table tabindex="0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="r">{value:,.4g}</td>' if abs(value) < 1e4 else f'<td class="r">{value:,.0f}</td>'
    return f"<td>{escape(str(value))}</td>"


def chart_named(document: Document, name: str) -> Chart | None:
    """One picture of a report."""
    return next((chart for chart in draw.charts_of(document) if chart.name == name), None)
