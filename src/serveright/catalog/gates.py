"""Kernel and number-format gates, one TOML a gate."""

from functools import cache

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.gate import Gate


@cache
def load_gates() -> tuple[Gate, ...]:
    """All gates, sorted by id."""
    return tuple(msgspec.convert(read_toml(path), Gate) for path in sorted((FACTS / "gates").glob("*.toml")))
