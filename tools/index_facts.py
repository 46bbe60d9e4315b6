"""Writes `facts/gpus/index.json` and `facts/models/index.json` from the fact files beside them: `python -m tools.index_facts`."""

import json
import tomllib
from pathlib import Path
from typing import Any

from serveright.catalog.files import FACTS
from serveright.catalog.gpus import normal_name


def gpu_index() -> dict[str, Any]:
    """Keys with the figures a list shows, and every alias in its normal form. Two GPUs may not share one."""
    gpus: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    for path in sorted((FACTS / "gpus").glob("*.toml")):
        gpu = tomllib.loads(path.read_text(encoding="utf-8"))
        gpus[gpu["key"]] = {field: gpu[field] for field in ("name", "vendor", "architecture", "memory_bytes", "bandwidth_bytes_per_s")}
        for name in (gpu["key"], gpu["name"], *gpu["aliases"]):
            if aliases.setdefault(normal_name(name), gpu["key"]) != gpu["key"]:
                raise SystemExit(f"{name}: both {aliases[normal_name(name)]} and {gpu['key']}")
    return {"gpus": gpus, "aliases": dict(sorted(aliases.items()))}


def write(folder: Path, content: dict[str, Any]) -> None:
    (folder / "index.json").write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    write(FACTS / "gpus", gpu_index())


if __name__ == "__main__":
    main()
