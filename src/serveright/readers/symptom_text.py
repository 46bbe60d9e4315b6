"""Free text, English or Korean -> symptoms: signs that narrow the search but prove nothing."""

import re
from functools import cache

from msgspec import Struct, convert

from serveright.catalog.files import FACTS, read_toml
from serveright.types.diagnosis import Sign


class Symptom(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing people complain about: any phrase (a regular expression over lower-cased text) is enough, or all ideas of one set, in any order."""

    key: str
    phrases: tuple[str, ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    idea: dict[str, str]
    symptom: tuple[Symptom, ...]


class _Ready(Struct, frozen=True):
    """A symptom ready to be looked for."""

    phrases: re.Pattern[str] | None
    sets: tuple[tuple[re.Pattern[str], ...], ...]

    def told(self, lowered: str) -> bool:
        """Whether the text tells of it."""
        if self.phrases is not None and self.phrases.search(lowered):
            return True
        return any(all(idea.search(lowered) for idea in ideas) for ideas in self.sets)


@cache
def symptoms() -> dict[str, _Ready]:
    """Every symptom; words end where Korean particles begin ("4090에서")."""
    found = convert(read_toml(FACTS / "logs" / "symptoms.toml"), _File)
    ideas = {name: re.compile(pattern, re.ASCII) for name, pattern in found.idea.items()}
    return {
        one.key: _Ready(
            phrases=re.compile("|".join(f"(?:{phrase})" for phrase in one.phrases), re.ASCII) if one.phrases else None,
            sets=tuple(tuple(ideas[name] for name in names) for names in one.sets),
        )
        for one in found.symptom
    }


def read_symptom(text: str, source: str = "--symptom") -> tuple[Sign, ...]:
    """The symptoms in a text of at most 20,000 characters."""
    lowered = text[:20_000].lower()
    return tuple(Sign(key=f"symptom:{key}", source=source, text=text[:200]) for key, symptom in symptoms().items() if symptom.told(lowered))
