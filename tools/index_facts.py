"""Writes `facts/gpus/index.json` and `facts/models/index.json` from the fact files beside them: `python -m tools.index_facts`."""

import json
from pathlib import Path
from typing import Any

from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.gpus import normal_name as normal_gpu
from serveright.catalog.models import normal_name as normal_model


def gpu_index() -> dict[str, Any]:
    """Keys with the figures a list shows, and every alias in its normal form. Two GPUs may not share one."""
    gpus: dict[str, Any] = {}
    names: dict[str, str] = {}
    for path in sorted((FACTS / "gpus").glob("*.toml")):
        gpu = read_toml(path)
        gpus[gpu["key"]] = {field: gpu[field] for field in ("name", "aliases", "vendor", "architecture", "memory_bytes", "bandwidth_bytes_per_s")}
        for name in (gpu["key"], gpu["name"], *gpu["aliases"]):
            _claim(names, normal_gpu(name), gpu["key"])
    return {"gpus": gpus, "aliases": dict(sorted(names.items()))}


def model_index() -> dict[str, Any]:
    """What a list of models shows, and id and aliases in their normal form. Two models may not share one."""
    models: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for path in sorted((FACTS / "models").glob("*/*.toml")):
        model = read_toml(path)
        facts: dict[str, Any] = model.get("facts", {})
        line = {
            "id": model["id"],
            "aliases": facts.get("aliases", []),
            "organisation": facts.get("organisation", ""),
            "licence": facts.get("licence", ""),
            "released": facts.get("released", ""),
            "modalities": facts.get("modalities", ["text"]),
            "config": model["config"]["quality"],
            "checkpoints": [checkpoint["id"] for checkpoint in facts.get("checkpoints", [])],
        }
        models.append(line)
        for name in (model["id"], *line["aliases"]):
            _claim(names, normal_model(name), model["id"])
    return {"models": models, "names": dict(sorted(names.items()))}


def _claim(names: dict[str, str], name: str, owner: str) -> None:
    if names.setdefault(name, owner) != owner:
        raise SystemExit(f"{name}: both {names[name]} and {owner}")


def write(folder: Path, content: dict[str, Any]) -> None:
    (folder / "index.json").write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    write(FACTS / "gpus", gpu_index())
    write(FACTS / "models", model_index())


if __name__ == "__main__":
    main()
