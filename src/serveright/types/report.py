"""Places in files and findings about them."""

from typing import Literal

from msgspec import Struct

from serveright.types.text import Msg

Severity = Literal["error", "warning", "note"]
Effect = Literal["crash", "wrong_output", "slow", "capacity", "cost", "security", "dead_flag"]
Confidence = Literal["certain", "likely", "possible"]


class Location(Struct, frozen=True):
    """A place in an input; line and column count from 1, 0 where unknown."""

    file: str
    line: int = 0
    column: int = 0


class Edit(Struct, frozen=True):
    """Replace one flag of a command. `value` None removes it, `""` keeps it as a bare switch; a flag not present is added."""

    flag: str
    value: str | None
    safe: bool = True


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule says about one command, file or model."""

    code: str
    name: str
    severity: Severity
    effect: Effect
    confidence: Confidence
    location: Location
    message: Msg
    why: Msg
    fix: Msg | None = None
    flag: str | None = None
    edits: tuple[Edit, ...] = ()
    sources: tuple[str, ...] = ()
