"""The fitted performance factors."""

from functools import cache

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.calibration import Calibration


@cache
def load_performance() -> Calibration:
    """`facts/calibration/performance.toml`, written by `tools/fit`."""
    return msgspec.convert(read_toml(FACTS / "calibration" / "performance.toml"), Calibration)
