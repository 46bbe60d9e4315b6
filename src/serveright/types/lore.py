"""What hand-kept facts say about flags and releases beyond the harvested tables: successors, known defects."""

from typing import Literal

from msgspec import Struct

SuccessorKind = Literal["renamed", "default", "gone", "moved", "never"]


class Successor(Struct, frozen=True, kw_only=True):
    """What became of a flag, or what another engine's or a recipe's word means here.

    `renamed`: the same under a new name; `moved`: into a key of a JSON flag; `default`: now what the engine does by itself;
    `gone`: the ability itself was removed; `never`: no release had it. `to` is the word to write instead, `value` the fixed value it then takes.
    """

    engine: str
    flag: str
    kind: SuccessorKind
    source: str
    to: str | None = None
    value: str | None = None
    keep_value: bool = True
    safe: bool = False


class DeadVariable(Struct, frozen=True, kw_only=True):
    """An environment variable that lost its effect, and the flag that took over."""

    engine: str
    name: str
    source: str
    to: str | None = None


class ValueChange(Struct, frozen=True, kw_only=True):
    """A value that a flag takes but replaces by another."""

    engine: str
    flag: str
    value: str
    to: str
    source: str
    key: str | None = None
    """Key inside a JSON-valued flag."""


class Counterpart(Struct, frozen=True, kw_only=True):
    """The same wish in both engines' words. `values` maps vLLM's value to SGLang's where they differ; `switch` both are bare."""

    vllm: str
    sglang: str
    values: dict[str, str] = {}
    switch: bool = False
    inverse: bool = False
    """One engine's switch turns on what the other's turns off."""
    note: str = ""


class Defect(Struct, frozen=True, kw_only=True):
    """A release that is wrong although every flag is right. Every given condition must hold; `from_version` is included, `until` is not.

    `rule` reports it. `flag` must be given (with one of `values`, where listed), `unless_flag` and `unless_env` (`NAME` or `NAME=value`) must not.
    `needs` are features of the model or command: multimodal, moe, sinks, recurrent, dsa, sparse, speculation, prefix_cache, code_template.
    """

    rule: str
    engine: str
    what: str
    source: str
    fixed_by: str
    from_version: str = "0"
    until: str | None = None
    flag: str | None = None
    values: tuple[str, ...] = ()
    unless_flag: str | None = None
    unless_env: str | None = None
    env: str | None = None
    architectures: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    sm: tuple[int, ...] = ()
    gpu_architectures: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    approximate: bool = False
    """The bounds come from dates, not from a changelog."""


class Lore(Struct, frozen=True, kw_only=True):
    """All hand-kept knowledge the rules read."""

    successors: tuple[Successor, ...] = ()
    dead_variables: tuple[DeadVariable, ...] = ()
    value_changes: tuple[ValueChange, ...] = ()
    counterparts: tuple[Counterpart, ...] = ()
    defects: tuple[Defect, ...] = ()
