"""Classes of transformers 5.20, built on the meta device with the altered configs of the engines' sweep, store exactly as many elements as we derive."""

import json
from pathlib import Path

import pytest

from tests.families.published import read

FLOOR = 66
HERE = Path(__file__).parent
TOTALS: dict[str, int] = json.loads((HERE / "registry_counts.json").read_text(encoding="utf-8"))
CONFIGS = json.loads((HERE.parent / "engines/registry.json").read_text(encoding="utf-8"))["configs"]


def test_no_total_is_lost():
    assert len(TOTALS) >= FLOOR


@pytest.mark.parametrize("name", TOTALS)
def test_every_element_is_counted(name):
    assert sum(weight.elements for weight in read(CONFIGS[name]).weights if not weight.mtp) == TOTALS[name]
