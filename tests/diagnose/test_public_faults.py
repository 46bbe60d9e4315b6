"""Public faults with a confirmed cause: how often the recorded cause is first, and among the first three."""

import json
import random
from pathlib import Path

import pytest

from tools.accuracy.symptoms import Row, codes_of, rows, shares, shuffled

CASES = Path(__file__).parent / "cases"
FIRST, THREE, CHANCE = 0.95, 0.97, 0.15
"""Reached shares; asked are 0.75 and 0.90."""


def _lines() -> list[Row]:
    cases = [json.loads(line) for line in (CASES / "lines.jsonl").read_text().splitlines()]
    return [Row(symptom="", **{**case, "label": frozenset(case["label"])}) for case in cases]


@pytest.fixture(scope="module")
def by_line() -> list[tuple[Row, list[str]]]:
    """What the engines' own lines and the command say, without a word of the reporter."""
    return [(row, codes_of(row)) for row in _lines()]


def test_lines_and_command_alone(by_line: list[tuple[Row, list[str]]]) -> None:
    first, three = shares(by_line)
    print(f"recorded cause first in {first:.1%}, among three in {three:.1%} of {len(by_line)}")
    assert first >= 0.94
    assert three >= 0.97


def test_shuffled_labels_score_at_chance(by_line: list[tuple[Row, list[str]]]) -> None:
    for seed in range(5):
        first, three = shuffled(by_line, seed)
        assert first < CHANCE
        assert three < 2 * CHANCE


def test_without_command_the_lines_still_tell() -> None:
    """A thread often shows no command: the message alone must do for most."""
    bare = [(row, codes_of(Row(id=row.id, label=row.label, symptom="", log=row.log, command="", gpu="", version=""))) for row in _lines()]
    first, three = shares(bare)
    print(f"without the command: {first:.1%}, {three:.1%}")
    assert first >= 0.75
    assert three >= 0.9


def test_drifted_wording_is_survived() -> None:
    """Numbers change, prefixes come, the end of a line is cut: the cause stays among three."""
    rng = random.Random(7)
    changed = 0
    for row in _lines():
        log = "".join(str(rng.randint(1, 9)) if c.isdigit() and rng.random() < 0.3 else c for c in row.log)
        again = codes_of(
            Row(
                id=row.id,
                label=row.label,
                symptom="",
                log=f"2026-11-29T10:00:00Z stderr F ERROR {log} [extra]",
                command=row.command,
                gpu=row.gpu,
                version=row.version,
            )
        )
        changed += not row.label & set(again[:3])
    assert changed <= 0.1 * len(_lines())


@pytest.mark.shared
def test_all_cases_that_count(shared: Path) -> None:
    found, left = rows(shared)
    assert {f"{name}|{why}" for name, why in left.items()} == {line for line in (CASES / "skipped.psv").read_text().splitlines() if not line.startswith("#")}
    results = [(row, codes_of(row)) for row in found]
    first, three = shares(results)
    by_chance = shuffled(results)
    print(f"first {first:.1%}, three {three:.1%} of {len(results)}; shuffled {by_chance}")
    assert first >= FIRST
    assert three >= THREE
    assert by_chance[0] < CHANCE
