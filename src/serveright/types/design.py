"""Steps 3 to 6: verdicts, candidates, the chosen design. One typed design is what every emitter reads."""

from typing import Any, Literal

from msgspec import Struct

from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.engine_table import EngineName
from serveright.types.report import Finding
from serveright.types.text import Msg

VerdictName = Literal["best", "degraded", "blocked", "unknown"]


class Reason(Struct, frozen=True, kw_only=True):
    """Why a verdict, a choice or a rejection: a stable code, a sentence, and where it is known from."""

    code: str
    text: Msg
    source: str = ""
    verdict: VerdictName | None = None
    """What this reason alone would say, where it stands for a verdict."""


class Check(Struct, frozen=True, kw_only=True, rename={"engine": "name"}):
    """Step 3 and 4 for one engine version: does this checkpoint run on this GPU, how well, and with which words."""

    engine: EngineName
    version: str
    verdict: VerdictName
    reasons: tuple[Reason, ...]
    resolved: dict[str, str | int | None]
    """attention_prefill, attention_decode, indexer, moe, kv_dtype, block_tokens."""
    minimum: dict[str, str | None]
    """engine, transformers, cuda."""
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    checkpoint: str | None = None
    prefix_cache: Msg | None = None
    kv_tiering: Msg | None = None


class Estimate(Struct, frozen=True, kw_only=True):
    """Predicted service. `range` maps a field name to its 80 % interval; `dominated_by` names the assumption that matters most."""

    ttft_mean_s: float
    ttft_median_s: float
    tpot_s: float
    output_tokens_per_s: float
    requests_per_s: float
    max_concurrency: float
    range: dict[str, tuple[float, float]] = {}
    dominated_by: Msg | None = None
    parts: dict[str, float] = {}
    """Seconds of one decode step by part."""
    goodput_per_s: float | None = None
    """Requests per second that meet the traffic's targets."""


class FlagChoice(Struct, frozen=True, kw_only=True):
    """A flag of the command and the reason it stands there; `value` None for a switch."""

    flag: str
    value: str | None
    why: Msg


class LeftToEngine(Struct, frozen=True, kw_only=True):
    """A flag deliberately absent, and why."""

    flag: str
    why: Msg


class Candidate(Struct, frozen=True, kw_only=True):
    """One layout on one engine. `lost_because` None for the chosen one."""

    engine: EngineName
    version: str
    checkpoint: str
    parallel: Parallel
    settings: Settings
    fits: bool
    sized: Sized | None
    estimate: Estimate | None
    cost_per_million_tokens: float | None = None
    lost_because: Reason | None = None
    settings_why: dict[str, Msg] = {}
    """Reasons of settings the search decided (or left to the engine), by field of `Settings`."""


class Launch(Struct, frozen=True, kw_only=True):
    """The command of one engine, word by word, ready for any emitter. `model` is the id or path to serve; flags exclude it."""

    engine: EngineName
    version: str
    model: str
    flags: tuple[FlagChoice, ...]
    env: dict[str, str]
    left_to_engine: tuple[LeftToEngine, ...]
    first_launch: tuple[FlagChoice, ...]


class Flip(Struct, frozen=True, kw_only=True, rename={"origin": "from"}):
    """From `at_concurrency` running requests on, `to` is the better layout."""

    at_concurrency: int
    origin: str
    to: str


class Design(Struct, frozen=True, kw_only=True):
    """The answer of `plan`: candidates best first, the chosen one with its command."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[tuple[str, Reason], ...]
    """Layouts that fell before sizing, by name."""
    chosen: Candidate | None
    launches: tuple[Launch, ...]
    """One per engine asked for, the chosen engine first."""
    flips: tuple[Flip, ...] = ()
    findings: tuple[Finding, ...] = ()
    steps: dict[str, Any] = {}
