"""vLLM's hand-kept behaviour at one version: every value's last step at or before it, every listed rule that covers it."""

from functools import cache
from typing import Any

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.types.vllm import VllmBehaviour, VllmMemory
from serveright.versions import at_least, within


@cache
def load_vllm_behaviour(version: str) -> VllmBehaviour:
    """What vLLM `version` does by itself; versions newer than the newest checked one are read as that one.

    Raises msgspec.ValidationError where the data does not fit `VllmBehaviour` (our own fault).
    """
    raw = read_toml(FACTS / "engines" / "vllm" / "behaviour.toml")
    checked = [v for v in raw["checked"] if at_least(version, v)]
    data: dict[str, Any] = {name: _step(entry["steps"], version) for name, entry in raw["values"].items()}
    for listed in ("batch_tiers", "priorities", "backends", "moe"):
        data[listed] = [_bare(item) for item in raw[listed] if within(version, item.get("since"), item.get("until"))]
    return msgspec.convert({**data, "version": checked[-1] if checked else raw["checked"][0], "asked_version": version}, VllmBehaviour)


@cache
def load_vllm_memory() -> VllmMemory:
    """The fitted overhead of vLLM; `tools/fit_memory` writes the file."""
    return msgspec.convert(read_toml(FACTS / "calibration" / "vllm_memory.toml"), VllmMemory)


def _step(steps: list[dict[str, Any]], version: str) -> Any:
    return [s for s in steps if at_least(version, s["since"])][-1]["value"]


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("since", "until")}
