"""The embedded models: a config as found or reconstructed, its quality marked, and published facts. Listing reads one index, finding reads one file."""

import json
import re
from functools import cache
from typing import Any, cast

import msgspec

from serveright.catalog.files import FACTS, index, read_toml
from serveright.types.facts_reports import Listed
from serveright.types.source import ModelFiles


def list_models() -> tuple[Listed, ...]:
    """Every model of the catalogue, by id."""
    return msgspec.convert(index("models")["models"], tuple[Listed, ...])


def find(name: str) -> ModelFiles | None:
    """The model called `name` (Hub id in any case, or an alias), None when unknown. `facts["config"]` tells quality, source and date of its config."""
    model_id = index("models")["names"].get(normal_name(name))
    return None if model_id is None else load(model_id)


def base_of(checkpoint: str) -> str | None:
    """The catalogue's model that lists `checkpoint` as one of its quantised versions."""
    return _bases().get(checkpoint.lower())


@cache
def _bases() -> dict[str, str]:
    bases: dict[str, str] = {}
    for model in list_models():
        for checkpoint in model.checkpoints:
            bases.setdefault(checkpoint.lower(), model.id)
    return bases


def load(model_id: str) -> ModelFiles:
    """The catalogue's file of `model_id`, exactly as spelt there."""
    data = read_toml(FACTS / "models" / f"{model_id}.toml")
    stored: dict[str, Any] = data["config"]
    config, hf_quant = stored.pop("json"), stored.pop("hf_quant_config", None)
    facts = {**data.get("facts", {}), "config": stored}
    return ModelFiles(
        id=model_id,
        origin=f"catalogue ({stored['quality']})",
        config=unfold(json.loads(config)),
        hf_quant_config=unfold(json.loads(hf_quant)) if hf_quant else {},
        facts=facts,
    )


def normal_name(text: str) -> str:
    """Aliases differ only in case, spaces and underscores."""
    return re.sub(r"[\s_]+", "-", text.strip().lower())


def unfold(value: object) -> Any:
    """Per-module maps are stored folded: under the key `folded:NAME` stands a list of `{"paths": ["a.[0-3].b"], "value": x}`, here four entries of the map NAME."""
    if isinstance(value, list):
        return [unfold(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, item in cast("dict[str, Any]", value).items():
        if key.startswith("folded:"):
            found[key.removeprefix("folded:")] = {name: entry["value"] for entry in item for path in entry["paths"] for name in expand(path)}
        else:
            found[key] = unfold(item)
    return found


def expand(path: str) -> list[str]:
    """`a.[0-2].b` -> a.0.b, a.1.b, a.2.b; several ranges multiply."""
    head, bracket, rest = path.partition("[")
    if not bracket:
        return [path]
    spans, _, tail = rest.partition("]")
    numbers: list[int] = []
    for span in spans.split(","):
        first, _, last = span.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return [f"{head}{number}{end}" for number in numbers for end in expand(tail)]
