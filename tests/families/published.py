"""The embedded set of published models: dimensions of published models (no texts, no weights), with the figures their checkpoints were published with."""

import json
from pathlib import Path
from typing import Any

from serveright.families.read import read_model
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

FOLDER = Path(__file__).parent / "published"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def read(config: dict[str, Any], **files: Any) -> ModelShape:
    return read_model(ModelFiles(id="some/model", origin="config.json", config=config, **files))


def total(shape: ModelShape) -> int:
    return sum(weight.elements for weight in shape.weights)
