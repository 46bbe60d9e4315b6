"""What `choose` and `compare` answer: every model with its verdict and reasons, and rows computed side by side."""

from typing import Literal

from msgspec import Struct

from serveright.types.curves import Curves
from serveright.types.design import Estimate
from serveright.types.engine import Parallel
from serveright.types.reports import EngineVersion, GpuCount
from serveright.types.text import Msg
from serveright.types.traffic import Traffic

ChooseStep = Literal["shape", "hardware", "workload", "needs", "quality", "rank"]
Because = Literal["context", "cost", "quality"]


class StepReason(Struct, frozen=True, kw_only=True):
    """One sentence for or against a model. `against` True: the model fell at this step."""

    step: ChooseStep
    code: str
    text: Msg
    against: bool = False
    source: str = ""


class Choice(Struct, frozen=True, kw_only=True):
    """One model. Rejected ones keep the reasons of the step they fell at; `rank` counts from 1 among those that fit.

    `tier` 1: no other model is both larger (or scored higher, where scores were given) and faster; tier 2: the same without tier 1, and so on.
    """

    model: str
    checkpoint: str
    verdict: Literal["fits", "rejected"]
    reasons: tuple[StepReason, ...]
    estimate: Estimate | None = None
    command: str | None = None
    rank: int | None = None
    tier: int | None = None
    family: str = ""
    parameters: int = 0
    active_parameters: int = 0
    checkpoint_format: str = ""
    checkpoint_assumed: bool = False
    """The checkpoint is published, but its config was not at hand: its format is laid over the model's own shape."""
    weights_bytes: int = 0
    engine: EngineVersion | None = None
    parallel: Parallel | None = None
    cost_per_million_tokens: float | None = None
    score: float | None = None


class Advice(Struct, frozen=True, kw_only=True):
    """One thing to do before or instead of changing the model, with its figures; in the order to try them."""

    code: str
    text: Msg
    figures: dict[str, float] = {}


class BecauseReport(Struct, frozen=True, kw_only=True):
    """Why are you changing? What the model at hand does on the same GPUs, and what the reason asks for."""

    reason: Because
    model: str
    advice: tuple[Advice, ...]


class ChooseReport(Struct, frozen=True, kw_only=True):
    """Hardware, then workload, then needs, then rank. `funnel` counts the models that fell at each step; `left_open` says what was not decided."""

    schema: str = "serveright.choose/1"
    gpu: GpuCount
    traffic: Traffic
    needs: tuple[str, ...]
    candidates: tuple[Choice, ...]
    funnel: dict[str, int]
    left_open: tuple[Msg, ...]
    because: BecauseReport | None = None


class CompareRow(Struct, frozen=True, kw_only=True):
    """One question, one answer a column, and why it matters."""

    item: str
    label: Msg
    values: dict[str, Msg]
    why: Msg
    figures: dict[str, float | None] = {}
    """The number behind each answer, where it is one."""


class CompareReport(Struct, frozen=True, kw_only=True):
    """Columns side by side under the same traffic; `verdicts` says in sentences what follows from the rows."""

    schema: str = "serveright.compare/1"
    columns: tuple[str, ...]
    traffic: Traffic
    rows: tuple[CompareRow, ...]
    verdicts: tuple[Msg, ...]
    curves: Curves | None = None
    """For pictures, where they were asked for."""
