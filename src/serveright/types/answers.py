"""What `plan` says beside the choice: single questions with a number, a simulated run, measured anchors, expert balance."""

from msgspec import Struct

from serveright.types.design import FlagChoice
from serveright.types.text import Msg


class Answer(Struct, frozen=True, kw_only=True):
    """One question about this traffic. `values` are language-neutral: seconds, tokens, rates, factors by name; None where there is no such number."""

    code: str
    text: Msg
    values: dict[str, float | str | None] = {}


class Simulated(Struct, frozen=True, kw_only=True):
    """Seconds by percentile (`p50` ...) and `mean`; rates over the time from the first arrival to the last token."""

    requests: int
    ttft_s: dict[str, float]
    tpot_s: dict[str, float]
    output_tokens_per_s: float
    requests_per_s: float
    goodput_per_s: float
    """Requests per second that met both targets (all of them where none is given)."""
    preemptions: int
    steps: int
    mean_running: float


class MeasuredPoint(Struct, frozen=True, kw_only=True):
    """One measurement used as an anchor: on which layout, what was measured and what had been predicted. Keys of both are fields of `Estimate`."""

    engine: str
    layout: str
    concurrency: float
    input_tokens: int
    output_tokens: int
    measured: dict[str, float]
    predicted: dict[str, float]
    note: Msg | None = None
    """What had to be assumed because the file does not say it."""


class Redundancy(Struct, frozen=True, kw_only=True):
    """Rebalanced with `redundant_experts` further slots: hottest GPU over the mean, speed of a large prefill against today, memory it costs."""

    redundant_experts: int
    hottest_gpu: float
    prefill_gain: float
    extra_bytes_per_gpu: float
    fits: bool


class ExpertBalance(Struct, frozen=True, kw_only=True):
    """What the loads say on `gpus` expert-parallel GPUs. Hottest over mean, averaged over layers; `worst_layer` counts MoE layers from 0."""

    layers: int
    experts: int
    gpus: int
    hottest_expert: float
    hottest_gpu: float
    worst_layer: int
    worst_layer_gpu: float
    choices: tuple[Redundancy, ...]
    flags: tuple[FlagChoice, ...]
    """Of the engine the plan chose, with the number of redundant experts that gains most for what it costs; empty where balancing gains nothing."""
    advice: Msg
