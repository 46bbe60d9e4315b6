"""Fixtures for all tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The material beside the project; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "cases").is_dir():
        pytest.skip("no shared material beside the project")
    return folder
