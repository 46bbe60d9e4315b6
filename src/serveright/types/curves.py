"""What a report carries for its pictures beyond its own figures: quantities over a range, computed only where a picture was asked for."""

from msgspec import Struct

from serveright.types.text import Msg


class Line(Struct, frozen=True, kw_only=True):
    """`y` over ascending `x`, `low` to `high` its range where it is an estimate. `dashed` marks a reference that is not the thing itself."""

    name: Msg | str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dashed: bool = False


class RoofPart(Struct, frozen=True, kw_only=True):
    """One part of a decode step: FLOPs for each byte read from memory, FLOPs a second it reaches, and the seconds it takes."""

    name: str
    intensity: float
    flop_per_s: float
    seconds: float


class Roof(Struct, frozen=True, kw_only=True):
    """The roofline of one GPU at the precision the model computes in."""

    peak_flop_per_s: float
    bandwidth_bytes_per_s: float
    parts: tuple[RoofPart, ...]


class Curves(Struct, frozen=True, kw_only=True):
    """Empty where not asked for. `cache` bytes a sequence over context tokens; `users` requests at once over context tokens; `tpot` seconds over concurrency."""

    cache: tuple[Line, ...] = ()
    users: tuple[Line, ...] = ()
    tpot: tuple[Line, ...] = ()
    roof: Roof | None = None
