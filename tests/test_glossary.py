"""One word for one thing: no Korean text (catalogue, rule pages, topics, docs) uses a spelling the glossary avoids."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from serveright.catalog.glossary import glossary
from tests.conftest import ROOT

LOCALE = ROOT / "src" / "serveright" / "locale" / "ko"
FACTS = ROOT / "src" / "serveright" / "facts"


def texts() -> Iterator[tuple[str, str]]:
    for path in sorted(LOCALE.glob("*.po")):
        with path.open("rb") as file:
            yield from ((f"{path.name}: {message.id}", str(message.string)) for message in read_po(file, locale="ko") if message.id)
    pages = (*LOCALE.rglob("*.md"), *FACTS.rglob("*.ko.md"), *(ROOT / "docs").rglob("*.ko.md"), ROOT / "README.ko.md")
    yield from ((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in sorted(pages))


AVOIDED = [(word, term.ko) for term in glossary() for word in term.avoid]


@pytest.mark.parametrize(("word", "instead"), AVOIDED)
def test_an_avoided_word_is_nowhere(word: str, instead: str) -> None:
    spelt = re.compile(rf"(?<![가-힣]){word}")
    used = [place for place, text in texts() if spelt.search(re.sub(r"`[^`]*`", "", text))]
    assert not used, f"write {instead}, not {word}"


def test_the_texts_are_there() -> None:
    places = [place for place, _ in texts()]
    assert len(places) > 2500
    assert any(Path(place).name == "README.ko.md" for place in places)


def test_one_voice() -> None:
    """Readers are spoken to in one style: `-세요`, never `-십시오`."""
    assert not [place for place, text in texts() if "십시오" in text]
