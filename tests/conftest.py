"""Fixtures for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.budget import examples

# the same examples on every machine: a suite that fails by chance tells nobody anything. `make fuzz` looks for new ones
settings.register_profile("suite", derandomize=True, database=None, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, max_examples=examples(100))
settings.load_profile("suite")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The material beside the project; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "cases").is_dir():
        pytest.skip("no shared material beside the project")
    return folder
