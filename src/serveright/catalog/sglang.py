"""SGLang's hand-kept behaviour at one version: entries whose `since`/`until` exclude it are dropped, of `memory` the last one left counts."""

from functools import cache
from typing import Any

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.sglang import SglangBehaviour, SglangMemory
from serveright.versions import within


@cache
def load_sglang_behaviour(version: str) -> SglangBehaviour:
    """What SGLang `version` decides by itself. Raises msgspec.ValidationError where the data does not fit `SglangBehaviour` (our own fault)."""
    data = read_toml(FACTS / "engines" / "sglang" / "behaviour.toml")
    names: dict[str, frozenset[str]] = {}
    for entry in _kept(data["names"], version):
        names[entry["list"]] = names.get(entry["list"], frozenset()) | frozenset(entry["architectures"])
    memory, constants, dsa = (_kept(data[key], version) for key in ("memory", "constants", "dsa"))
    fields = {
        **{key: data[key] for key in ("driver_mib", "alias", "alias_by_model_type", "vision_fixed")},
        "version": version,
        "names": names,
        "attention": _kept(data["attention"], version),
        "moe": _kept(data["moe"], version),
        "memory": memory[-1] if memory else {},
        "dsa": dsa[-1] if dsa else None,
        "defaults": _kept(data["default"], version),
        "constants": {key: value for entry in constants for key, value in entry.items()},
    }
    return msgspec.convert(fields, SglangBehaviour)


@cache
def load_sglang_memory() -> SglangMemory:
    """The fitted memory that is gone before the cache is sized."""
    return msgspec.convert(read_toml(FACTS / "calibration" / "sglang_memory.toml"), SglangMemory)


def _kept(entries: list[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in entry.items() if key not in ("since", "until")}
        for entry in entries
        if within(version, entry.get("since"), entry.get("until"))
    ]
