"""The runtime model over all points at once: a parameter vector in, predictions out. The formulas are those of `serveright.analysis`, fed with arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs

from serveright.analysis.generation import cell, generation
from serveright.analysis.layout import Split, SplitExperts, SplitRows, split
from serveright.analysis.loop import Load, Service, closed_loop
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration, Hardware, Scheduling
from serveright.types.hardware import Gpu
from tools.fit.rows import Point

Array = Any
WorkOf = Callable[[Point], ModelWork]
BURST = {"inferencex": 0.12, "gap/sglang": 0.15, "sla/sglang": 0.15, "grid/sglang": 0.3, "gap/trtllm": 0.25, "gap/vllm": 0.15}
"""Where the search for the burst share starts, by how the points were measured: InferenceX sends 10 requests per seat, the gap analysis does not say."""
TOGETHER = {"gap/sglang": 0.9, "sla/sglang": 0.3}
"""The same for requests in waves (`Load.together`): equal requests under a scheduler that puts prefill first."""


class Stack(Struct, kw_only=True):
    """All points as arrays: what they ask, what was measured, where their factors come from."""

    points: list[Point]
    work: Split
    load: Load
    keys: list[str]
    """Scheduling keys; `key_index` says which one a point uses."""
    key_index: Array
    harness_index: Array
    cells: list[str]
    """`analysis.generation.cell` of each point."""
    gpus: Array
    held: Array
    """`Point.held_steps`."""
    measured: dict[str, Array]


def kv_itemsize(point: Point) -> float:
    """Bytes of a cached element: what InferenceX's published scripts set (`kv-cache-dtype`), else the engine's default for the checkpoint."""
    blackwell = generation_of(point.gpu) == "blackwell"
    if point.precision == "bf16":
        return 2.0
    if point.model == "openai/gpt-oss-120b":
        return 1.0 if blackwell else 2.0
    if point.engine == "sglang":
        return 1.0 if blackwell and (point.precision == "fp4" or point.harness == "inferencex") else 2.0
    return 1.0


def generation_of(key: str) -> str:
    return {"h": "hopper", "b": "blackwell", "g": "blackwell", "m": "cdna"}[key[0]]


def floats(values: Sequence[Any]) -> Any:
    """An array where the runtime types say float: the formulas take either."""
    return np.array(values, float)


def stack(points: Sequence[Point], work_of: WorkOf, gpus: dict[str, Gpu], calibration: Calibration) -> Stack:
    """Splits of all points with every field an array."""
    splits: list[Split] = []
    rooms: list[float] = []
    for point in points:
        work, gpu = work_of(point), gpus[point.gpu]
        splits.append(split(work, gpu, point.parallel, calibration, kv_itemsize(point), engine=point.engine))
        rooms.append(_room(point, work, gpu))
    keys = sorted({f"{point.engine}/{generation(gpus[point.gpu])}" for point in points})

    def array(read: Callable[[Point], float | None]) -> Array:
        return floats([np.nan if read(point) is None else read(point) for point in points])

    return Stack(
        points=list(points), work=_stacked(splits), keys=keys, cells=[cell(work_of(p), p.gpu, p.engine) for p in points],
        load=Load(
            concurrency=array(lambda p: p.concurrency), input_tokens=array(lambda p: p.input_tokens), output_tokens=array(lambda p: p.output_tokens),
            room=floats(rooms), age_years=array(lambda p: p.age_years), receive_steps=array(lambda p: p.receive_steps),
        ),
        key_index=np.array([keys.index(f"{point.engine}/{generation(gpus[point.gpu])}") for point in points]),
        harness_index=np.array([list(BURST).index(harness(point)) for point in points]), gpus=array(lambda p: p.parallel.gpus), held=array(lambda p: p.held_steps),
        measured={name: array(read) for name, read in TARGETS.items()},
    )  # fmt: skip


TARGETS: dict[str, Callable[[Point], float | None]] = {
    "tpot": lambda p: p.tpot, "throughput": lambda p: p.per_gpu, "ttft_mean": lambda p: p.ttft_mean, "ttft_median": lambda p: p.ttft_median,
}  # fmt: skip


def _room(point: Point, work: ModelWork, gpu: Gpu) -> float:
    """Requests the cache holds: 93 % of memory less 2 GB and the weights, as the sweeps were run."""
    layout = point.parallel
    weights = sum(b.bytes / (1 if b.shard == "replicated" else layout.tp) for b in work.bundles) + sum(e.bytes for e in work.experts) / layout.gpus
    free = 0.93 * gpu.memory_bytes - 2e9 - weights
    length = point.input_tokens + point.output_tokens
    row = sum(
        r.layers * r.width * (kv_itemsize(point) if r.itemsize is None else r.itemsize) / min(layout.tp, r.heads) * min(r.per_token * length, r.cap)
        for r in work.rows
    )
    return max(free / (row + work.state_bytes / layout.tp) * layout.dp, 1.0)


def _stacked(splits: list[Split]) -> Any:
    """One `Split` of arrays; shorter tuples are padded with blocks that cost nothing."""

    def fields(items: list[Any]) -> dict[str, Array]:
        names = [name for name in items[0].__struct_fields__ if name not in ("experts", "rows")]
        return {name: floats([getattr(item, name) for item in items]) for name in names}

    no_experts = SplitExperts(bytes_s=0, flop_s=0, share=0.5, bandwidth=1, compute=1, floor_s=0)
    no_rows = SplitRows(bytes_s=0, flop_s=0, prefill_flop_s=0, per_token=1, cap=1)
    experts = _padded([item.experts for item in splits], no_experts)
    rows = _padded([item.rows for item in splits], no_rows)
    return Split(
        **fields(splits), experts=tuple(SplitExperts(**fields(column)) for column in experts), rows=tuple(SplitRows(**fields(column)) for column in rows)
    )


def _padded(columns: list[tuple[Any, ...]], filler: Any) -> list[list[Any]]:
    length = max(map(len, columns))
    return [[items[place] if place < len(items) else filler for items in columns] for place in range(length)]


def harness(point: Point) -> str:
    """Key of `BURST`."""
    if point.harness in BURST:
        return point.harness
    key = f"{point.harness}/{point.engine}"
    return key if key in BURST else f"gap/{point.engine}"


class Bench(Struct, kw_only=True):
    """What belongs to how points were measured, not to an engine: burst share by entry of `BURST`, share of requests in waves, share of a script's receive
    interval that a request waits."""

    bursts: Sequence[float]
    together: dict[str, float]
    receive_share: float


def predict(data: Stack, hardware: Hardware, engines: Scheduling, bench: Bench) -> dict[str, Array]:
    """Predictions of every target; `engines` has one value per point in each field."""
    shares = np.array(bench.bursts)
    waves = np.array([bench.together.get(name, 0.0) for name in BURST])
    load = structs.replace(
        data.load, burst_share=shares[data.harness_index], together=waves[data.harness_index], cold=1.0,
        receive_steps=data.load.receive_steps * bench.receive_share + data.held,
    )  # fmt: skip
    service: Service = closed_loop(data.work, hardware, engines, load)
    rate: Array = service.requests_per_s
    return {
        "tpot": service.tpot_s, "ttft_mean": service.ttft_mean_s, "ttft_median": service.ttft_median_s,
        "throughput": rate * data.load.output_tokens / data.gpus,
    }  # fmt: skip


def scheduling_arrays(table: dict[str, Scheduling], data: Stack) -> Any:
    """One `Scheduling` whose fields are arrays over the points."""
    rows = [table[key] for key in data.keys]
    values = {name: floats([structs.asdict(row)[name] for row in rows])[data.key_index] for name in Scheduling.__struct_fields__}
    return Scheduling(**values)
