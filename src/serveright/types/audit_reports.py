"""What `audit`, `migrate` and `rule` return."""

from msgspec import Struct

from serveright.types.design import FlagChoice, LeftToEngine
from serveright.types.report import Confidence, Effect, Finding, Location, Severity
from serveright.types.text import Msg


class Deployed(Struct, frozen=True, kw_only=True):
    """One engine start found in a file. `model_known`: its config was at hand, so rules about the model ran."""

    engine: str
    version: str
    version_known: bool
    model: str | None
    model_known: bool
    checkpoint_known: bool = True
    """False: layers are its base model's, number formats and bytes unknown, so rules about them stayed silent."""
    gpu: str | None
    gpu_count: int | None
    location: Location
    unread: tuple[Msg, ...] = ()
    present: tuple[FlagChoice, ...] = ()
    """With --explain-all: every flag given, with its reason."""
    absent: tuple[LeftToEngine, ...] = ()


class FixedFile(Struct, frozen=True, kw_only=True):
    """What --fix makes of a file; `left` are edits that could not be placed."""

    file: str
    text: str
    diff: str
    applied: int
    left: tuple[Msg, ...] = ()


class AuditReport(Struct, frozen=True, kw_only=True):
    """Findings over all commands of all files, in order of file and place."""

    schema: str = "serveright.audit/1"
    deployments: tuple[Deployed, ...]
    findings: tuple[Finding, ...]
    unread: tuple[Msg, ...] = ()
    fixed: tuple[FixedFile, ...] = ()


class LostFlag(Struct, frozen=True, kw_only=True):
    """A flag or variable of the old command that has no equivalent."""

    flag: str
    value: str | None
    why: Msg


class Migrated(Struct, frozen=True, kw_only=True):
    """One command in another engine's or version's words."""

    location: Location
    origin: str
    target: str
    command: str
    lost: tuple[LostFlag, ...]
    notes: tuple[Msg, ...] = ()


class MigrateReport(Struct, frozen=True, kw_only=True):
    """All commands of a file, translated."""

    schema: str = "serveright.migrate/1"
    migrations: tuple[Migrated, ...]


class RulePage(Struct, frozen=True, kw_only=True):
    """One rule: its axes and its page in Markdown."""

    code: str
    name: str
    severity: Severity
    effect: Effect
    confidence: Confidence
    since: str
    title: str
    page: str


class RuleReport(Struct, frozen=True, kw_only=True):
    """Rules by code."""

    schema: str = "serveright.rule/1"
    rules: tuple[RulePage, ...]
