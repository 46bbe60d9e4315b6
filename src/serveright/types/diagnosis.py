"""What speaks about a running or failed server, and what follows from it: signs, causes, measurements."""

from typing import Literal

from msgspec import Struct

from serveright.types.report import Edit
from serveright.types.text import Msg

Kind = Literal["log", "metrics", "command", "symptom", "probe", "gpu", "bench", "derived"]


class Evidence(Struct, frozen=True, kw_only=True):
    """One line that speaks for a cause. `source` names the file, URL or option; `line` counts from 1, 0 where it has none."""

    source: str
    line: int
    text: Msg | str


class Sign(Struct, frozen=True, kw_only=True):
    """One observation. `key` is `<kind>:<name>`; `count` how often it was seen; `numbers` what its text states."""

    key: str
    source: str
    line: int = 0
    text: Msg | str = ""
    count: int = 1
    numbers: dict[str, float | str] = {}


class Series(Struct, frozen=True, kw_only=True):
    """A quantity over a log or several scrapes, kept in constant memory."""

    first: float
    last: float
    low: float
    high: float
    mean: float
    count: int


class LogReading(Struct, frozen=True, kw_only=True):
    """What one log said. `facts` are the memory lines (GiB, tokens), `series` the periodic figures by name, `arguments` the engine's own echo of its flags."""

    source: str
    engine: str | None
    version: str | None
    signs: tuple[Sign, ...]
    facts: dict[str, Sign]
    series: dict[str, Series]
    errors: tuple[Sign, ...]
    """The last distinct error lines, known or not."""
    arguments: str | None
    started: bool
    """The engine said that it serves."""
    lines: int
    bytes: int
    notes: tuple[Msg, ...] = ()


class Scrape(Struct, frozen=True, kw_only=True):
    """One reading of a metrics page in engine-free names; `ranks` by data-parallel rank, `total` over all. Times are seconds, None where unknown."""

    source: str
    engine: str | None
    at: float | None
    total: dict[str, float]
    ranks: dict[str, dict[str, float]]
    info: dict[str, str]
    """Labels of the engine's cache information."""


class Part(Struct, frozen=True, kw_only=True):
    """One part of memory: derived beside what the log says, bytes or tokens; `verdict` agrees | differs | unknown."""

    name: str
    derived: float | None
    observed: float | None
    unit: str
    verdict: str
    text: Msg


class Cause(Struct, frozen=True, kw_only=True):
    """One explanation, likely ones first. `likelihood` is a share; shares of all causes and of "none of these" sum to 1."""

    code: str
    title: Msg
    likelihood: float
    evidence: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    why: Msg
    fix: tuple[Msg, ...]
    edits: tuple[Edit, ...] = ()


class RuledOut(Struct, frozen=True, kw_only=True):
    """A cause that the symptoms suggest and the evidence contradicts."""

    code: str
    title: Msg
    because: tuple[Evidence, ...]


class NotAFault(Struct, frozen=True, kw_only=True):
    """A line or figure that operators chase in vain."""

    code: str
    text: Msg
    evidence: tuple[Evidence, ...]


class DiagnoseReport(Struct, frozen=True, kw_only=True):
    """The answer of `diagnose`."""

    schema: str = "serveright.diagnose/1"
    inputs: tuple[str, ...] = ()
    engine: str | None = None
    version: str | None = None
    causes: tuple[Cause, ...] = ()
    corrected_command: str | None = None
    ruled_out: tuple[RuledOut, ...] = ()
    not_a_fault: tuple[NotAFault, ...] = ()
    next_checks: tuple[Msg, ...] = ()
    memory: tuple[Part, ...] = ()
    """The start-up lines against the derivation, part by part."""
    notes: tuple[Msg, ...] = ()


class Pair(Struct, frozen=True, kw_only=True):
    """A figure as derived and as measured; None where one is not known."""

    derived: float | None = None
    measured: float | None = None


class Tokens(Struct, frozen=True, kw_only=True):
    """Capacity three ways: derived, as the engine reports it, as the requests showed."""

    derived: float | None = None
    reported: float | None = None
    measured: float | None = None


class Sample(Struct, frozen=True, kw_only=True):
    """One rung of the ramp. `usage` is the highest share of the cache seen while the requests were alive."""

    requests: int
    input_tokens: int
    output_tokens: int
    usage: float | None
    running: float | None
    waiting: float | None
    preemptions: float
    ttft_s: float
    tpot_s: float
    failed: int = 0


class Curve(Struct, frozen=True, kw_only=True):
    """`seconds = base + slope x (requests, or input tokens)`, least squares; `error` the mean relative residual."""

    base_s: float
    slope_s: float
    per: str
    error: float


class MeasureReport(Struct, frozen=True, kw_only=True):
    """Step 6: does reality agree?"""

    schema: str = "serveright.measure/1"
    url: str
    model: str
    engine: str | None
    version: str | None
    bytes_per_token: Pair
    state_bytes: Pair
    block_tokens: Pair
    capacity_tokens: Tokens
    concurrency: Tokens
    curves: dict[str, Curve]
    agreement: str
    """agrees | differs | unknown."""
    findings: tuple[Msg, ...]
    samples: tuple[Sample, ...]
    interrupted: bool = False


class ProbeResult(Struct, frozen=True, kw_only=True):
    """One live probe: what was sent, what came back, and the sign it gives (None: as it should be)."""

    name: str
    sent: Msg
    verdict: Literal["good", "bad", "unknown"]
    text: Msg
    sign: str | None = None
