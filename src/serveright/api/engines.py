"""Which engine versions a request means, with their tables, behaviour and calibration: everything the pure engine packages are handed."""

import importlib
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from serveright.catalog.engines import load_table
from serveright.catalog.sglang import load_sglang_behaviour, load_sglang_memory
from serveright.catalog.vllm import load_vllm_behaviour, load_vllm_memory
from serveright.errors import UsageError
from serveright.readers.local_memory import LocalMemory
from serveright.types.engine import Settings
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.reports import EngineVersion
from serveright.types.text import Msg, msg
from serveright.types.vllm import VllmMemory

NAMES: tuple[EngineName, ...] = get_args(EngineName)


class Engine(Struct, frozen=True, kw_only=True):
    """One engine version asked for. `version` is what the user named, `table.version` the table that serves it."""

    name: EngineName
    version: str
    table: EngineTable
    note: Msg | None
    behaviour: Any
    """What this version decides by itself (`types.vllm.VllmBehaviour` or `types.sglang.SglangBehaviour`)."""
    memory: Any
    """The fitted overhead of this engine."""

    @property
    def label(self) -> EngineVersion:
        """How reports name it."""
        return EngineVersion(name=self.name, version=self.version, note=self.note)

    def module(self) -> Any:
        """The engine's package (`size`, `launch_flags`, ...)."""
        return importlib.import_module(f"serveright.engines.{self.name}")

    def flags(self, settings: Settings) -> tuple[tuple[str, str | None], ...]:
        """The settings in this version's own words."""
        if self.name == "sglang":
            return tuple(self.module().launch_flags(settings, self.version).items())
        return tuple(self.module().launch_flags(settings).items())


def parse_engines(text: str) -> tuple[tuple[EngineName, str | None], ...]:
    """`both`, `vllm`, `sglang@0.5.23` or several joined by commas. Raises UsageError."""
    found: list[tuple[EngineName, str | None]] = []
    for part in text.split(","):
        name, _, version = part.strip().partition("@")
        if name == "both" and not version:
            found.extend((engine, None) for engine in NAMES)
        elif name in NAMES:
            found.append((name, version.removeprefix("v") or None))
        else:
            raise UsageError(msg("--engine {text}: there is no engine {name}", text=text, name=name), msg("Write vllm, sglang, both, or vllm@0.33.0."))
    return tuple(dict.fromkeys(found))


def load_engines(text: str) -> tuple[Engine, ...]:
    """The engines of `--engine`, newest known version where none is named. Raises UserError."""
    engines: list[Engine] = []
    for name, version in parse_engines(text):
        table, note = load_table(name, version)
        behaviour, memory = _load(name, version or table.version)
        engines.append(Engine(name=name, version=version or table.version, table=table, note=note, behaviour=behaviour, memory=memory))
    return tuple(engines)


def with_local_memory(engine: Engine, local: LocalMemory | None) -> Engine:
    """The engine with its overhead scaled to what the user's own log showed; SGLang's log states no overhead apart, so only vLLM's is."""
    if local is None or local.engine != engine.name or not isinstance(engine.memory, VllmMemory):
        return engine
    return replace(engine, memory=replace(engine.memory, scale=local.overhead))


def _load(name: EngineName, version: str) -> tuple[object, object]:
    if name == "vllm":
        return load_vllm_behaviour(version), load_vllm_memory()
    return load_sglang_behaviour(version), load_sglang_memory()
