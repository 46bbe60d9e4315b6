"""The user's own measurements, for `--calibrate`: a result of vLLM's or SGLang's benchmark, of GuideLLM, of `measure`, or a TOML typed by hand."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from serveright.catalog.own import own_toml, read_own_text
from serveright.errors import InputError
from serveright.readers.benchmark import BenchPoint, parse_benchmark
from serveright.types.text import Msg, msg

FORM = msg(
    "Give the JSON of vllm bench serve, sglang.bench_serving or GuideLLM, or a TOML with [[point]] tables: concurrency, input_tokens, output_tokens "
    "and one of tpot_s, ttft_mean_s, ttft_median_s, output_tokens_per_s; engine and layout (TP8+EP8) where you know them."
)
MEASURED = ("tpot_s", "ttft_mean_s", "ttft_median_s", "output_tokens_per_s")


class MeasuredRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run at one load. Seconds and tokens; None where nobody said. `tool` is the benchmark client, which need not be the engine."""

    concurrency: float
    input_tokens: float
    output_tokens: float
    tpot_s: float | None = None
    ttft_mean_s: float | None = None
    ttft_median_s: float | None = None
    output_tokens_per_s: float | None = None
    engine: str | None = None
    layout: str | None = None
    tool: str = ""

    @property
    def measured(self) -> dict[str, float]:
        """What was measured, by field of `Estimate`."""
        values = {"tpot_s": self.tpot_s, "ttft_mean_s": self.ttft_mean_s, "ttft_median_s": self.ttft_median_s, "output_tokens_per_s": self.output_tokens_per_s}
        return {name: value for name, value in values.items() if value is not None and value > 0}


def read_measured(path: str) -> tuple[MeasuredRun, ...]:
    """All usable runs of the file, in its order. Raises InputError naming what is missing."""
    text = read_own_text(path, FORM)
    runs = _typed(path, text) if path.endswith(".toml") else _benchmarks(path, text)
    usable = tuple(run for run in runs if run.measured)
    if not usable:
        raise InputError(msg("{path}: holds no measurement to calibrate with", path=path), FORM)
    return usable


def _typed(path: str, text: str) -> tuple[MeasuredRun, ...]:
    table = own_toml(text, path, FORM)
    try:
        common = {key: table[key] for key in ("engine", "layout") if key in table}
        points = cast("list[dict[str, Any]]", table.get("point", []))
        runs = msgspec.convert([{**common, **point} for point in points], tuple[MeasuredRun, ...], strict=False)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(msg("{path}: not a description of measurements ({why})", path=path, why=str(error)), FORM) from error
    if any(min(run.concurrency, *run.measured.values()) <= 0 or min(run.input_tokens, run.output_tokens) < 1 for run in runs):
        raise InputError(msg("{path}: every number of a point must be above 0, lengths at least 1", path=path), FORM)
    return runs


def _benchmarks(path: str, text: str) -> tuple[MeasuredRun, ...]:
    points = parse_benchmark(text)
    if not points:
        raise InputError(msg("{path}: no benchmark result that is known here", path=path), FORM)
    runs = [_run(point) for point in points]
    known = tuple(run for run in runs if isinstance(run, MeasuredRun))
    if not known:
        missing = next(run for run in runs if isinstance(run, Msg))
        raise InputError(msg("{path}: {why}", path=path, why=missing), FORM)
    return known


def _run(point: BenchPoint) -> MeasuredRun | Msg:
    """A run, or what it lacks."""
    lengths = (point.input_tokens, point.output_tokens)
    seats = point.concurrency or _littles_law(point)
    if seats is None or seats <= 0:
        return msg("the result names no concurrency, and it does not follow from its rates")
    if lengths[0] is None or lengths[1] is None or min(lengths[0], lengths[1]) < 1:
        return msg("the result names no prompt and answer lengths")
    return MeasuredRun(
        concurrency=seats, input_tokens=lengths[0], output_tokens=lengths[1], tpot_s=point.tpot_s, ttft_mean_s=point.ttft_mean_s,
        ttft_median_s=point.ttft_median_s, output_tokens_per_s=point.output_tokens_per_s, tool=point.tool,
    )  # fmt: skip


def _littles_law(point: BenchPoint) -> float | None:
    """Requests in flight = arrival rate x time in the server."""
    if point.requests_per_s is None or point.tpot_s is None or point.output_tokens is None or point.ttft_mean_s is None:
        return None
    return max(1.0, point.requests_per_s * (point.ttft_mean_s + point.tpot_s * point.output_tokens))
