"""Copies over time for a rate curve."""

from msgspec import Struct

from serveright.types.derivation import Derivation
from serveright.types.text import Msg


class ScaleStep(Struct, frozen=True, kw_only=True):
    """From `at_s` on `copies` run; `rate_per_s` is what arrives then."""

    at_s: float
    rate_per_s: float
    copies: int


class ScaleReport(Struct, frozen=True, kw_only=True):
    """`copy_rate_per_s`: requests one copy carries within the targets; money in US dollars for the whole curve, None without a price."""

    schema: str = "serveright.scale/1"
    model: str
    engine: str
    version: str
    layout: str
    gpu: str
    gpus_per_copy: int
    copy_rate_per_s: float
    startup_s: int
    headroom: float
    steps: tuple[ScaleStep, ...]
    peak_copies: int
    copy_hours: float
    fixed_copy_hours: float
    usd: float | None
    fixed_usd: float | None
    derivation: tuple[Derivation, ...]
    notes: tuple[Msg, ...] = ()
