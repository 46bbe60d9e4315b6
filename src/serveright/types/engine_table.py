"""What one released engine version accepts, as harvested from its wheel by `tools/harvest`; never typed by hand."""

from typing import Literal

from msgspec import Struct

EngineName = Literal["vllm", "sglang"]
FlagType = Literal["str", "int", "float", "bool", "json", "list", "enum", "unknown"]


class Flag(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command-line flag. `name` is the canonical long form with its dashes; `negative` its `--no-` twin where one exists.

    `switch`: takes no value. `repeatable`: takes several values (nargs). `default` None where it could not be read as a literal.
    `open_choices`: `choices` are the names known to the engine, others may be registered. `any_case`: the engine folds the case of a value.
    """

    name: str
    aliases: tuple[str, ...] = ()
    negative: str | None = None
    negatives: tuple[str, ...] = ()
    """Further spellings that mean the opposite (`--disable-x` of `--enable-x`)."""
    type: FlagType = "str"
    switch: bool = False
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    open_choices: bool = False
    any_case: bool = False
    default: str | int | float | bool | None = None
    deprecated: str | None = None
    """The engine's own words on what replaces it."""
    fields: tuple[str, ...] = ()
    """Keys of a JSON-valued flag (speculative-config, compilation-config), reachable as `--flag.key` too."""


class Architecture(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model class the registry knows; `kind` as the engine groups them (text, multimodal, embedding, speculative, transformers)."""

    name: str
    kind: str = "text"
    module: str = ""


class Quantization(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A quantisation method and the lowest capability (80 = sm_80) its class accepts; None where the code does not say."""

    name: str
    min_capability: int | None = None


class Backend(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attention backend and its limits. `executed`: read by running the class, not by parsing it."""

    name: str
    kind: str = "dense"
    capabilities: tuple[int, ...] = ()
    kv_dtypes: tuple[str, ...] = ()
    block_sizes: tuple[int, ...] = ()
    head_sizes: tuple[int, ...] = ()
    sinks: bool | None = None
    executed: bool = False


class EngineTable(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One engine version."""

    engine: EngineName
    version: str
    released: str = ""
    flags: tuple[Flag, ...] = ()
    tool_parsers: tuple[str, ...] = ()
    reasoning_parsers: tuple[str, ...] = ()
    architectures: tuple[Architecture, ...] = ()
    quantizations: tuple[Quantization, ...] = ()
    backends: tuple[Backend, ...] = ()
    kv_dtypes: tuple[str, ...] = ()
    speculative_methods: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    all2all_backends: tuple[str, ...] = ()
    requires: dict[str, str] = {}
    """Package name -> version specifier from the wheel's metadata (transformers, torch, flashinfer, ...)."""
    python: str = ""
    source: str = ""


class Span(Struct, frozen=True, array_like=True):
    """First and last version that knew a name, as positions in `EngineIndex.versions`."""

    first: int
    last: int


class Successor(Struct, frozen=True, kw_only=True):
    """What took a flag's place. `text`: the engine's own deprecation words, `version` the last release that said them."""

    to: str
    text: str
    version: str


class EngineIndex(Struct, frozen=True, kw_only=True):
    """What minimum versions are read from without opening every table. `versions` oldest first; `spans`: kind -> name -> Span."""

    engine: EngineName
    versions: tuple[str, ...]
    released: tuple[str, ...]
    spans: dict[str, dict[str, Span]]
    successors: dict[str, Successor] = {}


Area = Literal[
    "flag",
    "architecture",
    "tool_parser",
    "reasoning_parser",
    "quantization",
    "backend",
    "kv_dtype",
    "speculative_method",
    "environment",
    "all2all_backend",
    "requires",
]
ChangeKind = Literal["removed", "renamed", "added", "default", "choices", "deprecated"]


class Change(Struct, frozen=True, kw_only=True):
    """One difference between two versions. `to` where a removed flag was renamed; `before` and `after` of a default, a requirement or of choices."""

    area: Area
    kind: ChangeKind
    name: str
    to: str | None = None
    before: str | int | float | bool | None = None
    after: str | int | float | bool | None = None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    note: str = ""
    """The engine's own words."""


class TableDiff(Struct, frozen=True, kw_only=True):
    """What an upgrade (or downgrade) changes, by area and kind."""

    engine: EngineName
    older: str
    newer: str
    changes: tuple[Change, ...]
