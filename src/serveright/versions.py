"""Release numbers as the engines write them, in order: the one place that compares versions."""

import re
from functools import lru_cache

_PARTS = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:\.?(rc|a|b|dev|post)(\d{1,9}))?")
_RANK = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


@lru_cache(4096)
def release(version: str) -> tuple[int, ...]:
    """A key that sorts: `0.5.4.post3` after `0.5.4`, `0.10.1.1` after `0.10.1`, `0.28.0rc1` before `0.28.0`; what is no version sorts first."""
    match = _PARTS.match(version.strip())
    if match is None:
        return (0, 0, 0, 0, 0, 0)
    *numbers, kind, number = match.groups()
    return (*(int(part or 0) for part in numbers), _RANK[kind], int(number or 0))


def is_version(version: str) -> bool:
    """Whether the whole text is a release number; a local part behind `+` is allowed."""
    return _PARTS.fullmatch(version.strip().partition("+")[0]) is not None


def at_least(version: str, bound: str) -> bool:
    """Whether `version` is `bound` or newer."""
    return release(version) >= release(bound)


def within(version: str, since: str | None, until: str | None) -> bool:
    """`since` <= version < `until`, open where None."""
    return (since is None or at_least(version, since)) and (until is None or not at_least(version, until))


def released(version: str) -> bool:
    """Whether this is a release and not a build between releases or of somebody's own: no `dev`, no `rc`, no local part."""
    match = _PARTS.fullmatch(version.strip())
    return match is not None and match.group(5) in (None, "post")
