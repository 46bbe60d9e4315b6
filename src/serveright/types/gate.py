"""What hardware a kernel or number format needs, as facts: one gate a file in `facts/gates`."""

from msgspec import Struct

from serveright.types.design import VerdictName
from serveright.types.engine_table import EngineName
from serveright.types.report import Confidence


class GateRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer. It applies when every condition given holds; the first row of an engine that applies is the answer.

    `sm` lists compute capabilities (90 = sm_90), `min_sm`/`max_sm` bound them; `vendor` and `architectures` are for accelerators without one.
    `since`/`until`: first engine version it holds for, and the first it no longer does. `needs` are further needs of the model, as in `Gate.needs`.
    """

    engine: EngineName
    verdict: VerdictName
    text: str
    fix: str | None = None
    sm: tuple[int, ...] = ()
    min_sm: int | None = None
    max_sm: int | None = None
    vendor: str | None = None
    architectures: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    needs: tuple[str, ...] = ()
    source: str | None = None


class Gate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kernel or number format. It concerns a model that has any of `needs` (`mixer:sparse_mla`, `format:nvfp4`, `sinks`, ...)."""

    id: str
    topic: str
    needs: tuple[str, ...]
    source: str
    as_of: str
    confidence: Confidence
    rows: tuple[GateRow, ...]
