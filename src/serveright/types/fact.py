"""Where a number comes from."""

from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct

from serveright.types.text import Msg

T = TypeVar("T")

Kind = Literal["datasheet", "config", "class-default", "engine-source", "log", "measured", "assumed", "memory", "derived"]


class Source(Struct, frozen=True):
    """One origin. `kind` `memory` means nobody could show the page again; such figures widen ranges."""

    kind: Kind
    text: str
    as_of: str = ""


class Fact(Struct, Generic[T], frozen=True):
    """A value with its unit and origin."""

    value: T
    unit: str
    source: Source


class Evidence(Struct, frozen=True):
    """One field of a config that decided something. `path` is the JSON path as written in the file."""

    path: str
    value: Any
    meaning: Msg
    kind: Kind = "config"


class Unknown(Struct, frozen=True):
    """Something the reader did not understand, by path, and why it may matter."""

    path: str
    why: Msg
