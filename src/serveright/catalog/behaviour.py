"""vLLM's hand-kept behaviour at one version: every value's last step at or before it, every listed rule that covers it."""

import re
from functools import cache
from typing import Any

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.vllm import VllmBehaviour, VllmMemory

_NUMBER = re.compile(r"\d+")


def version_key(version: str) -> tuple[int, ...]:
    """`0.20.2rc1` -> (0, 20, 2): the first three numbers of a version."""
    return tuple(int(n) for n in _NUMBER.findall(version)[:3])


@cache
def load_vllm_behaviour(version: str) -> VllmBehaviour:
    """What vLLM `version` does by itself; versions newer than the newest checked one are read as that one.

    Raises msgspec.ValidationError where the data does not fit `VllmBehaviour` (our own fault).
    """
    raw = read_toml(FACTS / "engines" / "vllm" / "behaviour.toml")
    at = version_key(version)
    checked = [v for v in raw["checked"] if version_key(v) <= at]
    data: dict[str, Any] = {name: _step(entry["steps"], at) for name, entry in raw["values"].items()}
    for listed in ("batch_tiers", "priorities", "backends", "moe"):
        data[listed] = [_bare(item) for item in raw[listed] if _covers(item, at)]
    return msgspec.convert({**data, "version": checked[-1] if checked else raw["checked"][0], "asked_version": version}, VllmBehaviour)


@cache
def load_vllm_memory() -> VllmMemory:
    """The fitted overhead of vLLM; `tools/fit_memory` writes the file."""
    return msgspec.convert(read_toml(FACTS / "calibration" / "vllm_memory.toml"), VllmMemory)


def _step(steps: list[dict[str, Any]], at: tuple[int, ...]) -> Any:
    return [s for s in steps if version_key(s["since"]) <= at][-1]["value"]


def _covers(item: dict[str, Any], at: tuple[int, ...]) -> bool:
    until = item.get("until")
    return version_key(item.get("since", "0.0")) <= at and (until is None or at < version_key(until))


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("since", "until")}
