"""Least squares with priors: global hardware factors, scheduling terms per engine and generation drawn towards their engine's mean."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs
from scipy.optimize import least_squares

from serveright.types.calibration import Hardware, Scheduling
from tools.fit.model import BURST, Stack, predict, scheduling_arrays

Array = Any
WEIGHT = {"tpot": 1.0, "throughput": 0.6, "ttft_mean": 0.35, "ttft_median": 0.4}
"""How much a residual of each quantity counts: token times are the best measured and the least polluted."""
BEND = 0.15
"""Log residual from which on a point counts linearly (soft L1)."""
PRIOR: dict[str, tuple[float, float]] = {
    "dense_bandwidth": (0.88, 0.1), "expert_bandwidth": (0.75, 0.15), "unpacked_bandwidth": (0.8, 0.2), "cache_bandwidth": (0.75, 0.2), "dense_compute": (0.9, 0.2),
    "expert_compute": (0.45, 0.4), "attention_compute": (0.35, 0.4), "routing_spread": (0.8, 0.2), "kernel_s": (5e-6, 0.5), "latent_kernel": (1.0, 0.3),
    "recurrent_kernel": (1.0, 0.3), "expert_kernel": (1.0, 0.3), "step_s": (4e-4, 0.7), "sequence_s": (3e-6, 1.0), "collective_latency": (0.6, 0.5),
    "collective_bandwidth": (0.6, 0.5), "exchange_bandwidth": (0.6, 0.5), "prefill_fixed": (0.4, 0.7), "overlap": (0.9, 0.08), "queue": (0.7, 0.5),
}  # fmt: skip
"""Centre and standard deviation (of the logarithm) before any end-to-end row was seen: kernel tables and counting."""
SLOW_ENGINE, SLOW_GENERATION = 0.05, 0.1
AGE_SPREAD = {"cdna3": 0.5, "cdna4": 0.5}
AGE_OTHERS = 0.1
"""Spread of the yearly log change of step time: large where the collection saw it (AMD), else close to none."""
KEYED: dict[str, tuple[float, float, float]] = {
    "request_s": (0.035, 0.8, 0.5), "poll_steps": (4.0, 1.0, 0.7), "rank_wait_steps": (15.0, 0.7, 0.3), "cold_start_s": (0.4, 1.2, 0.7), "slowdown": (1.0, SLOW_ENGINE, SLOW_GENERATION),
}  # fmt: skip
"""Centre, spread between engines, spread between generations of one engine."""
UPPER = {"dense_bandwidth": 1.0, "expert_bandwidth": 1.0, "cache_bandwidth": 1.0, "dense_compute": 1.3, "overlap": 1.0, "routing_spread": 1.0}


class Solution:
    """A fitted pair of hardware factors and scheduling table."""

    def __init__(self, hardware: Hardware, table: dict[str, Scheduling], bursts: list[float]) -> None:
        self.hardware = hardware
        self.bursts = bursts
        self.table = table

    def predict(self, data: Stack) -> dict[str, Array]:
        """Predictions for points that may use keys this fit never saw: those fall back to the engine's mean, then to all."""
        table = {key: self.lookup(key) for key in data.keys}
        return predict(data, self.hardware, scheduling_arrays(table, data), self.bursts)

    def lookup(self, key: str) -> Scheduling:
        """Exact key, the engine's mean, the mean of all."""
        engine = key.split("/")[0]
        for name in (key, f"{engine}/*", "*/*"):
            if name in self.table:
                return self.table[name]
        raise KeyError(key)


def fit(data: Stack, evaluations: int = 14) -> Solution:
    """Fit all factors on `data`."""
    names, engines = list(PRIOR), sorted({key.split("/")[0] for key in data.keys})
    columns = [f"{name}@{engine}" for name in KEYED for engine in engines] + [f"{name}@{key}" for name in KEYED for key in data.keys]
    generations = sorted({key.split("/")[1] for key in data.keys})
    columns += [f"age@{generation}" for generation in generations] + [f"burst@{name}" for name in BURST]
    place = {name: index for index, name in enumerate(names + columns)}
    start = np.zeros(len(place))
    bound = np.array([np.log(UPPER[name] / PRIOR[name][0]) / PRIOR[name][1] if name in UPPER else 8.0 for name in names] + [6.0] * len(columns))

    def unpack(vector: Array) -> tuple[Hardware, dict[str, Scheduling], list[float]]:
        hardware = Hardware(**{name: PRIOR[name][0] * np.exp(PRIOR[name][1] * vector[place[name]]) for name in names})
        table: dict[str, Scheduling] = {}
        for key in data.keys:
            engine = key.split("/")[0]
            generation = key.split("/")[1]
            age = AGE_SPREAD.get(generation, AGE_OTHERS) * vector[place[f"age@{generation}"]]
            table[key] = Scheduling(
                age_per_year=age,
                **{
                    name: c * np.exp(wide * vector[place[f"{name}@{engine}"]] + narrow * vector[place[f"{name}@{key}"]])
                    for name, (c, wide, narrow) in KEYED.items()
                },
            )
        bursts = [share * np.exp(BURST_SPREAD * vector[place[f"burst@{name}"]]) for name, share in BURST.items()]
        return hardware, table, [np.minimum(share, 0.95) for share in bursts]

    weight = _cell_weights(data)

    def residuals(vector: Array) -> Array:
        hardware, table, bursts = unpack(vector)
        got = predict(data, hardware, scheduling_arrays(table, data), bursts)
        return np.concatenate([*(WEIGHT[name] * weight * _error(got[name], data.measured[name]) / BEND for name in WEIGHT), vector * PRIOR_STRENGTH])

    result = least_squares(residuals, start, bounds=(-8 * np.ones(len(start)), np.maximum(bound, 1e-6)), loss="soft_l1", max_nfev=evaluations, x_scale=1.0)
    hardware, table, bursts = unpack(result.x)
    return Solution(_plain(hardware), _with_means({key: _plain(value) for key, value in table.items()}), [float(share) for share in bursts])


PRIOR_STRENGTH = 4.0
"""Points of one sweep are near copies: some sixteen of them count as one observation against a prior."""
CELL_POWER = 0.5
BURST_SPREAD = 0.3


def _cell_weights(data: Stack) -> Array:
    """Large sweeps count less per point: a cell of n points weighs n^(1 - CELL_POWER), scaled to mean 1."""
    counts = Counter(point.cell for point in data.points)
    weights = np.array([counts[point.cell] ** -CELL_POWER for point in data.points])
    return np.sqrt(weights / weights.mean())


def _error(got: Array, measured: Array) -> Array:
    return np.nan_to_num(np.log(got / measured))


def _plain(struct: Any) -> Any:
    return type(struct)(**{name: float(value) for name, value in structs.asdict(struct).items()})


def _with_means(table: dict[str, Scheduling]) -> dict[str, Scheduling]:
    engines = sorted({key.split("/")[0] for key in table})
    out = dict(table)
    for engine in engines:
        out[f"{engine}/*"] = _mean([value for key, value in table.items() if key.startswith(f"{engine}/")])
    out["*/*"] = _mean([out[f"{engine}/*"] for engine in engines])
    return out


def _mean(rows: Sequence[Scheduling]) -> Scheduling:
    fields = {name: [structs.asdict(row)[name] for row in rows] for name in Scheduling.__struct_fields__}
    return Scheduling(**{name: float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else float(np.mean(values)) for name, values in fields.items()})
