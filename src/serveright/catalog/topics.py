"""The topics of `explain`: order, whose numbers are shown, and the text in each language."""

from functools import cache
from typing import Any

from serveright.catalog.files import FACTS, read_toml
from serveright.errors import UnknownName
from serveright.types.text import msg

_FOLDER = FACTS / "topics"


@cache
def topics() -> dict[str, dict[str, Any]]:
    """Topic -> model, gpu, next, in reading order."""
    return read_toml(_FOLDER / "index.toml")


def topic_text(topic: str, lang: str) -> str:
    """The text with its placeholders. Raises UnknownName."""
    if topic not in topics():
        raise UnknownName(msg("topic"), topic, topics())
    return (_FOLDER / f"{topic}.{lang}.md").read_text(encoding="utf-8")


def topic_title(topic: str, lang: str) -> str:
    """The first line without its `#`."""
    return topic_text(topic, lang).partition("\n")[0].removeprefix("# ")
