"""`python -m tools.locale`: collect every `msg("...")` template and every sentence of the gates, check the Korean .po files against them, write `locale/ko.mo`.

`--missing` prints untranslated templates as .po entries to paste; the exit code is 1 while any is missing, stale or has other fields than the English one.
"""

import ast
import string
import sys
import tomllib
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

UNDATED = datetime(2026, 1, 1, tzinfo=UTC)
"""The compiled catalogue must not change with the clock."""
SRC = Path(__file__).parents[2] / "src" / "serveright"
LOCALE = SRC / "locale"


def templates() -> dict[str, str]:
    """Every literal template -> the place of its first use. A `msg(...)` with a computed template is an error."""
    found: dict[str, str] = {}
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "msg" and node.args:
                text = node.args[0]
                if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
                    raise SystemExit(f"{path.relative_to(SRC)}:{node.lineno}: msg() needs a literal template")
                found.setdefault(text.value, f"{path.relative_to(SRC)}:{node.lineno}")
    for path in sorted((SRC / "facts" / "gates").glob("*.toml")):
        gate = tomllib.loads(path.read_text(encoding="utf-8"))
        for text in (gate["topic"], *(row[key] for row in gate["rows"] for key in ("text", "fix") if key in row)):
            found.setdefault(text, str(path.relative_to(SRC)))
    return found


def fields(template: str) -> set[str]:
    """Names of the fields of a template."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def korean() -> dict[str, str]:
    """English -> Korean over all .po files; a later file wins."""
    out: dict[str, str] = {}
    for path in sorted((LOCALE / "ko").glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale="ko"):
                if message.id and message.string:
                    out[str(message.id)] = str(message.string)
    return out


def quote(text: str) -> str:
    """A .po string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def compiled(used: dict[str, str], translated: dict[str, str]) -> bytes:
    """The .mo file of the templates in use."""
    catalogue = Catalog(locale="ko", charset="utf-8", creation_date=UNDATED, revision_date=UNDATED)
    for template in sorted(used):
        if template in translated:
            catalogue.add(template, translated[template])
    out = BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


def problems(used: dict[str, str], translated: dict[str, str]) -> list[str]:
    """What keeps the Korean catalogue from being complete."""
    has_letters = [t for t in used if any(c.isalpha() for c in string.Formatter().vformat(t, (), _Blank()))]
    found = [f"{used[t]}: no Korean for {t!r}" for t in has_letters if t not in translated]
    return found + [f"{used[t]}: Korean of {t!r} has other fields" for t in used if t in translated and fields(t) != fields(translated[t])]


class _Blank(dict[str, object]):
    """Every field empty."""

    def __missing__(self, key: str) -> object:
        return _Empty()


class _Empty:
    def __format__(self, spec: str) -> str:
        return ""


def main() -> int:
    """Compile; report what is missing."""
    used, translated = templates(), korean()
    (LOCALE / "ko.mo").write_bytes(compiled(used, translated))
    bad = problems(used, translated)
    if "--missing" in sys.argv:
        for template, place in used.items():
            if template not in translated:
                print(f'#: {place}\nmsgid {quote(template)}\nmsgstr ""\n')
    else:
        print("\n".join(bad) or f"{len(used)} templates, all in Korean")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
