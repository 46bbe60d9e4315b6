"""Free text, English or Korean -> symptoms: signs that narrow the search but prove nothing."""

import re
from functools import cache

from msgspec import Struct, convert

from serveright.catalog.files import FACTS, read_toml
from serveright.types.diagnosis import Sign


class Symptom(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing people complain about; any phrase (a regular expression over lower-cased text) is enough."""

    key: str
    phrases: tuple[str, ...]


@cache
def symptoms() -> dict[str, re.Pattern[str]]:
    """Every symptom with its phrases as one pattern; words end where Korean particles begin ("4090에서")."""
    found = convert(read_toml(FACTS / "logs" / "symptoms.toml")["symptom"], tuple[Symptom, ...])
    return {one.key: re.compile("|".join(f"(?:{phrase})" for phrase in one.phrases), re.ASCII) for one in found}


def read_symptom(text: str, source: str = "--symptom") -> tuple[Sign, ...]:
    """The symptoms in a text of at most 20,000 characters."""
    lowered = text[:20_000].lower()
    return tuple(Sign(key=f"symptom:{key}", source=source, text=text[:200]) for key, pattern in symptoms().items() if pattern.search(lowered))
