"""Thousands of deployments: one row each, findings grouped, and what two moments differ by."""

from msgspec import Struct

from serveright.types.report import Effect, Severity
from serveright.types.text import Msg


class RowFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding of a row; `line` in the row's file, 0 where unknown."""

    code: str
    severity: Severity
    effect: Effect
    flag: str | None = None
    line: int = 0


class Row(Struct, frozen=True, kw_only=True):
    """One engine start. `piece` is the object or file it stands in, `part` of `parts` its place there; `digest` fingerprints the piece and the audit.

    `gpus` counts all copies and nodes; `lost_gpus` those that a crash or idleness wastes for certain, `affected_gpus` those of deployments with any warning.
    """

    piece: str
    part: int
    parts: int
    digest: str
    file: str
    line: int
    engine: str
    version: str | None
    model: str | None
    gpu: str | None
    gpus: int | None
    copies: int
    worst: Severity | None
    findings: tuple[RowFinding, ...]
    lost_gpus: float = 0
    affected_gpus: float = 0
    lost_usd_per_hour: float | None = None
    unread: int = 0

    @property
    def key(self) -> str:
        """The same deployment in another dump."""
        return self.piece if self.parts == 1 else f"{self.piece}#{self.part}"


class Group(Struct, frozen=True, kw_only=True):
    """All findings of one rule."""

    code: str
    title: str
    severity: Severity
    effect: Effect
    deployments: int
    gpus: float
    example: str


class FleetReport(Struct, frozen=True, kw_only=True):
    """`worst` holds the rows that lose most, first; all rows lie in the row file. Money is None where no price is known."""

    schema: str = "serveright.fleet/1"
    deployments: int
    pieces: int
    audited: int
    reused: int
    gpus: float
    lost_gpus: float
    affected_gpus: float
    lost_usd_per_hour: float | None
    by_severity: dict[str, int]
    by_engine: dict[str, int]
    by_model: dict[str, int]
    groups: tuple[Group, ...]
    worst: tuple[Row, ...]
    rows_file: str | None = None
    notes: tuple[Msg, ...] = ()


class Changed(Struct, frozen=True, kw_only=True):
    """One deployment in both dumps; `fields` name -> (before, after); findings by code."""

    key: str
    fields: dict[str, tuple[str, str]]
    appeared: tuple[str, ...]
    gone: tuple[str, ...]


class FleetDiff(Struct, frozen=True, kw_only=True):
    """What changed between two dumps."""

    schema: str = "serveright.fleet-diff/1"
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Changed, ...]
    same: int
    lost_gpus: tuple[float, float]
    findings: dict[str, tuple[int, int]]
    """Code -> deployments with it before and after, where the numbers differ."""
