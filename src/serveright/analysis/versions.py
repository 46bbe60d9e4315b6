"""Order of engine versions: 0.9.2 < 0.10.0, 0.4.6 < 0.4.6.post5, 1.0rc1 < 1.0."""

import re

_PART = re.compile(r"(\d+)|([a-z]+)")
_BEFORE = {"dev": -3, "a": -2, "alpha": -2, "b": -1, "beta": -1, "rc": -1}


def key(version: str) -> tuple[tuple[int, int], ...]:
    """A sortable key; a local part after `+` does not count."""
    parts: list[tuple[int, int]] = []
    for number, word in _PART.findall(version.lower().split("+")[0].lstrip("v")):
        parts.append((0, int(number)) if number else (_BEFORE.get(word, 1), 0))
    return (*parts, (0, 0))


def within(version: str, since: str | None, until: str | None) -> bool:
    """`since` <= version < `until`, open where None."""
    return (since is None or key(version) >= key(since)) and (until is None or key(version) < key(until))
