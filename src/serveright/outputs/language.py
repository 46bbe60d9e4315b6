"""The only place where a `Msg` becomes prose. English is the source; Korean comes from the compiled catalogue `locale/ko.mo`."""

import gettext
import os
import re
import string
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from serveright import units
from serveright.types.text import Msg

LANGUAGES = ("en", "ko")
_FOLDER = Path(__file__).parent.parent / "locale"


@cache
def _catalogue(lang: str) -> gettext.NullTranslations:
    if lang == "en":
        return gettext.NullTranslations()
    with (_FOLDER / f"{lang}.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def default_language(environment: Mapping[str, str] | None = None) -> str:
    """`ko` when the locale says Korean, else `en` (LC_ALL, LC_MESSAGES, LANG, in this order)."""
    environment = os.environ if environment is None else environment
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "ko" if environment[name].lower().startswith("ko") else "en"
    return "en"


def rule_page(code: str, lang: str) -> tuple[str, str] | None:
    """(title, page) of a rule as written in `lang`; None where only the docstring stands."""
    path = _FOLDER / lang / "rules" / f"{code}.md"
    if not path.is_file():
        return None
    page = path.read_text(encoding="utf-8")
    return page.partition("\n")[0], page


class _Formatter(string.Formatter):
    """str.format with our units: gib, n, s, pct, list."""

    def __init__(self, lang: str, mark: "Mark | None" = None) -> None:
        self.lang = lang
        self.mark = mark

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Msg):
            value = render(value, self.lang, self.mark)
        text = self._plain(value, format_spec)
        return self.mark(value, text) if self.mark and isinstance(value, (int, float)) else text

    def _plain(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "gib":
                return units.gib(value)
            case "n":
                return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
            case "s":
                return units.seconds(value)
            case "pct":
                return f"{value:.1%}"
            case _:
                return format(value, format_spec)


_COUNTED = (
    "blocks|bytes|cards|commands|copies|days|edits|entries|exercises|experts|facts|groups|GPUs|heads|images|keys|layers|layouts|lines|models|nodes|"
    "queries|questions|ranks|releases|requests|rows|rules|seconds|shards|slots|stages|states|steps|times|tokens|users|versions"
)
_ONE = re.compile(rf"(?<![\d.,x/-])1 ((?:[A-Za-z-]+ )?)({_COUNTED})\b(?! a second)")
_SINGULAR = {"copies": "copy", "entries": "entry", "queries": "query"}


def _singular(text: str) -> str:
    """English counts of one: `1 tokens` reads `1 token`, so that no template needs two forms."""
    if "1 " not in text:
        return text
    return _ONE.sub(lambda m: f"1 {m[1]}{_SINGULAR.get(m[2], m[2][:-1])}", text)


Mark = Callable[[float, str], str]
"""(value, its text) -> text: lets a format mark the numbers inside a sentence."""


def translated(template: str, lang: str) -> str:
    """A template in `lang` with its fields left open, itself where the catalogue has none."""
    return _catalogue(lang).gettext(template) if template else ""


def render(text: Msg | str, lang: str, mark: Mark | None = None) -> str:
    """The prose of a message in `lang`. A template whose values are missing is our bug and raises KeyError."""
    if isinstance(text, str):
        return text
    made = _Formatter(lang, mark).vformat(translated(text.template, lang), (), text.values)
    return _singular(made) if lang == "en" else made
