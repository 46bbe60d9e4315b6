"""Measured points a fit may use: calibrate rows with a clear layout, doubtful ones left out, repeats of one month folded into one.

What is left out and why stands in `doubtful`; the reasons are those of the collection's own notes (its section 9).
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec import Struct

from serveright.types.engine import Parallel

Record = dict[str, Any]
MODELS = {
    "meta-llama/Llama-3.1-70B": "meta-llama/Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen3-32B": "Qwen/Qwen3-32B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen/Qwen3-32B",
    "Qwen/Qwen3-32B-FP8": "Qwen/Qwen3-32B",
    "openai/gpt-oss-120b": "openai/gpt-oss-120b",
    "Qwen/Qwen3.5-397B-A17B": "Qwen/Qwen3.5-397B-A17B",
    "Qwen/Qwen3.5-397B-A17B-FP8": "Qwen/Qwen3.5-397B-A17B",
    "nvidia/Qwen3.5-397B-A17B-NVFP4": "Qwen/Qwen3.5-397B-A17B",
}
"""Checkpoint id -> the model whose layout it has; DeepSeek-R1 and V3 by prefix. Rows of other models are too few to fit."""
ENGINES = {"trt": "trtllm", "trtllm": "trtllm", "vllm": "vllm", "sglang": "sglang", "atom": "atom"}
GPUS = {"H100-SXM": "h100-sxm", "H200-SXM": "h200-sxm", "B200": "b200-sxm", "GB200": "gb200", "MI300X": "mi300x", "MI355X": "mi355x"}
REAL_LENGTH = 0.9
"""InferenceX draws lengths between 80 and 100 % of the nominal ones."""
REFERENCE_DATE = "2026-01"
"""The middle of the months measured: age counts from there."""
NEWEST_DATE = "2026-06"
RECEIVE_STEPS = (10.0, 30.0)
"""What InferenceX's scripts for SGLang on B200 set below and from `RECEIVE_BUSY` requests at once (its published benchmark scripts)."""
RECEIVE_BUSY = 16
HELD_STEPS = 20.0
"""`batch_wait_timeout_iters` of InferenceX's TensorRT-LLM scripts for Llama-70B at 1k/1k below TP 8: a request is held back for company so long."""
GRID = {(1024, 1024), (1024, 8192), (8192, 1024)}
"""Lengths of InferenceX, on which part of the gap analysis was run too."""


class Point(Struct, kw_only=True):
    """One configuration in one month. Times in seconds; None where the row is silent."""

    id: str
    model: str
    precision: str
    gpu: str
    engine: str
    parallel: Parallel
    concurrency: float
    input_tokens: float
    output_tokens: float
    nominal: tuple[int, int]
    harness: str
    """Who measured, how: `inferencex`; parts of the gap analysis by their lengths: `grid` (those of InferenceX), `sla` (round thousands, concurrency searched
    for a target), `gap` (the others)."""
    age_years: float
    tpot: float
    ttft_mean: float | None
    ttft_median: float | None
    per_gpu: float
    """Output tokens per second and GPU."""
    repeats: int = 1
    receive_steps: float = 0.0
    """Steps between two looks for new requests where the benchmark's script set more than one (SGLang `--scheduler-recv-interval`)."""
    held_steps: float = 0.0
    """Steps a new request is held back for company where the script said so."""

    @property
    def cell(self) -> tuple[str, ...]:
        """Model, GPU, engine, precision."""
        return (self.model, self.gpu, self.engine, self.precision)

    @property
    def layout(self) -> tuple[object, ...]:
        """The cell and how it is split."""
        return (*self.cell, self.parallel.tp, self.parallel.dp, self.parallel.ep)


def base_model(name: str) -> str | None:
    """The model a checkpoint is a copy of, None where nothing is fitted on it."""
    if name.split("/")[-1].startswith(("DeepSeek-R1", "DeepSeek-V3-", "DeepSeek-V3.1")) or name.endswith("DeepSeek-V3"):
        return "deepseek-ai/DeepSeek-R1"
    return MODELS.get(name)


def doubtful(row: Record) -> str | None:
    """Why a row is not trusted, None where it is."""
    model, gpu, engine, tpot, seats = row["model"], row["gpu"], row["engine"], row["metrics"].get("tpot_ms"), row["concurrency"]
    gap = row["source"].startswith("NVIDIA aic")
    if gap and engine == "trtllm" and row["version"] in ("1.3.0rc1", "1.3.0rc5"):
        return "concurrency of the sweep is not the real one"
    if model == "nvidia/Llama-3.1-8B-Instruct-FP8" and engine == "vllm":
        return "prefill faster than the GPU: prefix caching or other lengths"
    if model == "openai/gpt-oss-120b" and gpu == "H100-SXM" and engine == "vllm" and seats == 512 and tpot is not None and tpot < 5:
        return "a batch cap below the concurrency"
    if model.startswith("deepseek") and gpu == "H200-SXM" and engine == "sglang" and row["metrics"].get("ttft_ms", 0) > 10_000:
        return "a bad run"
    if row.get("duplicate_of"):
        return "a copy of another row"
    return None


def parallel_of(row: Record) -> Parallel | None:
    """The layout in our words, None where the row contradicts itself."""
    given, gpus = row["parallelism"], row["n_gpus"]
    tp = given.get("tp")
    if not gpus or not tp or (given.get("pp") or 1) != 1:
        return None
    experts = max(given.get("ep") or 1, 1)
    if given.get("dp_attention"):
        if experts not in (1, gpus):
            return None
        return Parallel(tp=1, dp=gpus, ep=experts)
    if row["engine"] == "trtllm" and row["model"] == "openai/gpt-oss-120b" and experts == 2 and gpus == 4:
        return None
    return Parallel(tp=gpus, ep=experts)


def load(path: Path) -> list[Point]:
    """Points of the file at `path`, repeats folded, in a stable order."""
    return points_of(map(json.loads, path.read_text().splitlines()))


def points_of(rows: Iterable[Record]) -> list[Point]:
    """Points of the usable rows, repeats folded, in a stable order."""
    groups: dict[tuple[object, ...], list[tuple[Record, Parallel]]] = {}
    for row in rows:
        parallel = _usable(row)
        if parallel is not None:
            groups.setdefault(_key(row, parallel), []).append((row, parallel))
    return [_fold(rows) for _, rows in sorted(groups.items(), key=lambda item: str(item[0]))]


def _usable(row: Record) -> Parallel | None:
    metrics = row["metrics"]
    plain = not row["disagg"] and str(row["spec_decode"]).startswith("none") and row["quality"] == "measured"
    known = base_model(row["model"]) and row["engine"] in ENGINES and row["gpu"] in GPUS
    complete = row["concurrency"] and row["isl"] and row["osl"] and row["osl"] > 1 and metrics.get("tpot_ms")
    if not (plain and known and complete) or doubtful(row):
        return None
    return parallel_of(row)


def _key(row: Record, parallel: Parallel) -> tuple[object, ...]:
    month = (row["date"] or "")[:7]
    return (
        base_model(row["model"]), row["precision"], row["gpu"], ENGINES[row["engine"]], parallel.tp, parallel.dp, parallel.ep,
        row["isl"], row["osl"], row["concurrency"], month, row["source"],
    )  # fmt: skip


def _mean(values: Iterable[float | None]) -> float | None:
    known = [math.log(value) for value in values if value]
    return math.exp(fmean(known)) if known else None


def _per_gpu(row: Record) -> float:
    derived: Record = row.get("derived_metrics") or {}
    measured: float | None = row["metrics"].get("output_tput_per_gpu") or derived.get("output_tput_per_gpu")
    if measured:
        return measured
    metrics = row["metrics"]
    whole = (metrics.get("ttft_ms") or 0) + metrics["tpot_ms"] * (row["osl"] - 1)
    return row["concurrency"] * row["osl"] / (whole / 1e3) / row["n_gpus"]


def _fold(rows: list[tuple[Record, Parallel]]) -> Point:
    row, parallel = rows[0]
    records = [record for record, _ in rows]
    inference_x = row["source"].startswith("InferenceX")
    length = REAL_LENGTH if inference_x else 1.0
    median = [r["metrics"].get("ttft_ms") if r.get("metric_stat") == "median" else None for r in records]
    mean = [r["metrics"].get("ttft_ms") if r.get("metric_stat") == "mean" else r["metrics"].get("ttft_mean_ms") for r in records]
    ttft_mean, ttft_median, tpot, per_gpu = _mean(mean), _mean(median), _mean(r["metrics"]["tpot_ms"] for r in records), _mean(map(_per_gpu, records))
    if tpot is None or per_gpu is None:
        raise ValueError(row["id"])
    return Point(
        id=row["id"], model=base_model(row["model"]) or "", precision=row["precision"] or "bf16", gpu=GPUS[row["gpu"]], engine=ENGINES[row["engine"]],
        parallel=parallel, concurrency=float(row["concurrency"]), input_tokens=row["isl"] * length, output_tokens=row["osl"] * length,
        nominal=(row["isl"], row["osl"]), harness="inferencex" if inference_x else _campaign(row["isl"], row["osl"]), age_years=_age(row["date"]),
        tpot=tpot / 1e3, ttft_mean=ttft_mean / 1e3 if ttft_mean else None, ttft_median=ttft_median / 1e3 if ttft_median else None,
        per_gpu=per_gpu, repeats=len(rows), receive_steps=_receive_steps(row, inference_x=inference_x),
        held_steps=_held_steps(row, parallel, inference_x=inference_x),
    )  # fmt: skip


def _receive_steps(row: Record, *, inference_x: bool) -> float:
    if not inference_x or ENGINES[row["engine"]] != "sglang" or row["gpu"] != "B200":
        return 0.0
    return RECEIVE_STEPS[1 if row["concurrency"] >= RECEIVE_BUSY else 0]


def _held_steps(row: Record, parallel: Parallel, *, inference_x: bool) -> float:
    llama = base_model(row["model"]) == "meta-llama/Llama-3.1-70B" and ENGINES[row["engine"]] == "trtllm"
    return HELD_STEPS if inference_x and llama and row["isl"] == row["osl"] == 1024 and parallel.tp < 8 else 0.0


def _campaign(isl: int, osl: int) -> str:
    if (isl, osl) in GRID:
        return "grid"
    return "sla" if isl % 1000 == 0 else "gap"


def _age(date: str | None) -> float:
    """Years before `REFERENCE_DATE`; rows without a date are taken as of that month."""
    if not date or len(date) < 7:
        return 0.0
    year, month = int(date[:4]), int(date[5:7])
    return (int(REFERENCE_DATE[:4]) - year) + (int(REFERENCE_DATE[5:7]) - month) / 12
