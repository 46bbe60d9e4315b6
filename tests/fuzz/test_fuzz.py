"""Broken inputs of every kind through the real command: an answer or one message, in time. The seeds are fixed; `make fuzz` takes fresh ones."""

import os
import time
from pathlib import Path

import pytest

from tests.budget import FUZZ, examples
from tests.fuzz.__main__ import attempt
from tests.fuzz.targets import TARGETS

FIRST = 0 if FUZZ == 1 else int(time.time())


@pytest.mark.parametrize("target", TARGETS)
def test_an_answer_or_one_message(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for seed in range(FIRST, FIRST + examples(6)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        arguments, found = attempt(target, seed, folder)
        assert not found, f"python -m tests.fuzz --only {target} --seed {seed}\n{arguments}\n{os.linesep.join(found)}"
