"""Every file of `facts/` has a source, a date and a kind."""

from datetime import date
from fnmatch import fnmatchcase
from typing import get_args

from serveright.api.facts import WEAK, origin_facts
from serveright.catalog.files import FACTS
from serveright.catalog.origins import file_origins, origins
from serveright.types.fact import Kind

OWN = ("gpus/", "models/", "origins.toml")
"""Their entries say it one by one."""


def test_every_file_is_named_once() -> None:
    patterns = [pattern for pattern, _ in file_origins()]
    files = [path.relative_to(FACTS).as_posix() for path in FACTS.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    named = {file: [p for p in patterns if fnmatchcase(file, p) and file.count("/") == p.count("/")] for file in files if not file.startswith(OWN)}
    assert {file: found for file, found in named.items() if len(found) != 1} == {}
    assert [p for p in patterns if not any(p in found for found in named.values())] == []


def test_every_origin_is_whole() -> None:
    for fact, source in origins():
        assert source.kind in get_args(Kind), fact
        assert source.text, fact
        assert date.fromisoformat(source.as_of) <= date.today(), fact


def test_weak_ones_come_first_and_old_ones_are_listed() -> None:
    listed = origin_facts(180, date(2026, 11, 29)).origins
    assert {origin.fact for origin in listed} >= {"traffic.toml"}
    assert {origin.kind for origin in listed} == set(WEAK)
    later = origin_facts(180, date(2028, 1, 1)).origins
    assert len(later) == len(list(origins()))
    assert [o.kind in WEAK for o in later] == sorted((o.kind in WEAK for o in later), reverse=True)
