"""Release numbers as the engines write them, in order. Pure."""

import re

_PARTS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.?(rc|a|b|dev|post)(\d+))?")
_RANK = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


def release(version: str) -> tuple[int, int, int, int, int]:
    """`0.5.4.post3` sorts after `0.5.4`, `0.28.0rc1` before `0.28.0`; what is no version sorts first."""
    match = _PARTS.match(version.strip().removeprefix("v"))
    if match is None:
        return (0, 0, 0, 0, 0)
    major, minor, patch, kind, number = match.groups()
    return (int(major), int(minor), int(patch or 0), _RANK[kind], int(number or 0))


def at_least(version: str, bound: str) -> bool:
    """Whether `version` is `bound` or newer."""
    return release(version) >= release(bound)


def within(version: str, since: str | None, until: str | None) -> bool:
    """`since` <= version < `until`, open where None."""
    return (since is None or at_least(version, since)) and (until is None or not at_least(version, until))
