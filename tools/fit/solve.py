"""Least squares with priors: global hardware factors, scheduling terms per engine and generation drawn towards their engine's mean."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from msgspec import structs

from serveright.analysis.generation import line, nearest
from serveright.types.calibration import Hardware, Scheduling
from tools.fit.model import BURST, TOGETHER, Bench, Stack, predict, scheduling_arrays

Array = Any
WEIGHT = {"tpot": 1.0, "throughput": 0.6, "ttft_mean": 0.35, "ttft_median": 0.4}
"""How much a residual of each quantity counts: token times are the best measured and the least polluted."""
BEND = 0.15
"""Log residual from which on a point counts linearly (soft L1)."""
PRIOR: dict[str, tuple[float, float]] = {
    "dense_bandwidth": (0.88, 0.1), "expert_bandwidth": (1.0, 0.15), "expert_floor": (0.6, 0.4), "cache_bandwidth": (0.75, 0.2),
    "dense_compute": (0.9, 0.2), "expert_compute": (1.0, 0.4), "attention_compute": (0.35, 0.4), "routing_spread": (0.88, 0.06), "kernel_s": (4.5e-6, 0.5), "kernel_width": (0.5, 0.3),
    "latent_kernel": (1.0, 0.1), "recurrent_kernel": (1.2, 0.15), "expert_kernel": (1.0, 0.1), "step_s": (4e-4, 0.7), "sequence_s": (3e-6, 1.0),
    "collective_latency": (0.6, 0.5), "collective_bandwidth": (0.6, 0.5), "exchange_bandwidth": (0.6, 0.5), "prefill_fixed": (0.4, 0.7),
    "overlap": (0.9, 0.08), "queue": (0.7, 0.5),
}  # fmt: skip
"""Centre and standard deviation (of the logarithm) before any end-to-end row was seen: kernel tables and counting."""
UPPER = {"dense_bandwidth": 1.0, "expert_bandwidth": 1.05, "cache_bandwidth": 1.0, "dense_compute": 1.3, "overlap": 1.0, "routing_spread": 1.0}
KEYED: dict[str, tuple[float, float, float]] = {
    "request_s": (0.035, 0.5, 0.4), "poll_steps": (3.0, 0.4, 0.3), "rank_wait_steps": (15.0, 0.7, 0.3), "cold_start_s": (0.25, 1.0, 0.4),
    "kernels": (1.0, 0.15, 0.05), "slowdown": (1.0, 0.01, 0.01),
}  # fmt: skip
"""Centre, spread between engines, spread between generations of one engine."""
SLOWDOWN_SPREAD = {"cdna3": 0.3, "cdna4": 0.05}
"""Generations whose whole step may differ more: software there is younger. More keys would only memorise the models measured on them."""
AGE_SPREAD = {"cdna": 0.5}
AGE_OTHERS = 0.001
"""Spread of the yearly log change of step time; close to none where age and model cannot be told apart."""
BURST_SPREAD = 0.3
TOGETHER_SPREAD = 0.7
"""Of the log odds."""
RECEIVE = (0.5, 0.4)
"""Share of a receive interval that a request waits: half on average where it may come at any step."""
STRENGTH = {"hardware": 15.0, "floor": 8.0, "scheduling": 6.0}
"""How many residuals one standard deviation of a prior outweighs. Points of one sweep are near copies, and few models were measured: weak priors on
hardware factors fit these models better and the next one worse (left-out errors decided)."""
FLOOR = ("kernels@", "slowdown@")
CELL_POWER = 0.5
CELL_SHRINK = 6
"""Points that a cell needs before half of its own level is believed."""
STEP = 1e-4
TOLERANCE = 1e-5
"""Relative fall of the cost below which a fit has converged."""


class Solution:
    """Fitted factors; predicts points whose keys it never saw by the engine's mean, then the mean of all."""

    def __init__(self, hardware: Hardware, table: dict[str, Scheduling], bench: Bench) -> None:
        self.hardware, self.table, self.bench = hardware, table, bench
        self.cells: dict[str, float] = {}

    def predict(self, data: Stack) -> dict[str, Array]:
        table = {key: self.lookup(key) for key in data.keys}
        engines = scheduling_arrays(table, data)
        known = np.array([self.cells.get(name, 1.0) for name in data.cells])
        return predict(data, self.hardware, structs.replace(engines, slowdown=engines.slowdown * known), self.bench)

    def lookup(self, key: str) -> Scheduling:
        engine, generation = key.split("/")
        return nearest(self.table, engine, generation)


class Problem:
    """Parameters of one fit, all in units of their prior's standard deviation, 0 at its centre."""

    def __init__(self, data: Stack) -> None:
        self.data = data
        self.engines = sorted({key.split("/")[0] for key in data.keys})
        self.lines = sorted({line(key.split("/")[1]) for key in data.keys})
        self.names = [
            *PRIOR,
            *(f"{name}@{engine}" for name in KEYED for engine in self.engines),
            *(f"{name}@{key}" for name in KEYED for key in data.keys),
            *(f"age@{line}" for line in self.lines),
            *(f"burst@{name}" for name in BURST),
            *(f"together@{name}" for name in TOGETHER),
            "receive",
        ]
        self.strength = np.array(
            [STRENGTH["hardware"] if name in PRIOR else STRENGTH["floor" if name.startswith(FLOOR) else "scheduling"] for name in self.names]
        )
        self.place = {name: index for index, name in enumerate(self.names)}
        self.weight = _cell_weights(data)
        self.targets = {name: np.nan_to_num(np.log(data.measured[name])) for name in WEIGHT}
        self.known = {name: ~np.isnan(data.measured[name]) * (WEIGHT[name] / BEND) * self.weight for name in WEIGHT}

    def upper(self) -> Array:
        bounds = {name: np.log(top / PRIOR[name][0]) / PRIOR[name][1] for name, top in UPPER.items()}
        return np.array([bounds.get(name, 8.0) for name in self.names])

    def unpack(self, vector: Array) -> tuple[Hardware, dict[str, Scheduling], Bench]:
        value = {name: vector[index] for name, index in self.place.items()}
        hardware = Hardware(**{name: centre * np.exp(spread * value[name]) for name, (centre, spread) in PRIOR.items()})
        table: dict[str, Scheduling] = {}
        for key in self.data.keys:
            engine, generation = key.split("/")
            fields = {
                name: KEYED[name][0] * np.exp(KEYED[name][1] * value[f"{name}@{engine}"] + narrow(name, generation) * value[f"{name}@{key}"]) for name in KEYED
            }
            own = line(generation)
            table[key] = Scheduling(age_per_year=AGE_SPREAD.get(own, AGE_OTHERS) * value[f"age@{own}"], **fields)
        bursts = [np.minimum(share * np.exp(BURST_SPREAD * value[f"burst@{name}"]), 0.95) for name, share in BURST.items()]
        receive = np.minimum(RECEIVE[0] * np.exp(RECEIVE[1] * value["receive"]), 1.0)
        together = {name: share / (share + (1 - share) * np.exp(-TOGETHER_SPREAD * value[f"together@{name}"])) for name, share in TOGETHER.items()}
        return hardware, table, Bench(bursts=bursts, together=together, receive_share=receive)

    def errors(self, vector: Array) -> Array:
        """Weighted log residuals, one row per target."""
        hardware, table, bench = self.unpack(vector)
        got = predict(self.data, hardware, scheduling_arrays(table, self.data), bench)
        return np.stack([(np.log(got[name]) - self.targets[name]) * self.known[name] for name in WEIGHT])

    def residuals(self, vector: Array) -> Array:
        return np.concatenate([self.errors(vector).ravel(), vector * self.strength])

    def jacobian(self, vector: Array) -> Array:
        """Finite differences; parameters that touch disjoint points are moved together."""
        base, points = self.errors(vector), len(self.data.points)
        out = np.zeros((base.size + len(vector), len(vector)))
        out[base.size :] = np.diag(self.strength)

        def moved(names: Sequence[str]) -> Array:
            shifted = vector.copy()
            shifted[[self.place[name] for name in names]] -= STEP
            return (base - self.errors(shifted)) / STEP

        def put(name: str, slope: Array, mask: Array) -> None:
            out[: base.size, self.place[name]] = (slope * mask).ravel()

        everyone = np.ones(points)
        for name in PRIOR:
            put(name, moved([name]), everyone)
        keys = np.array(self.data.keys)[self.data.key_index]
        engine_of, generation_of = (np.array([key.split("/")[side] for key in keys]) for side in (0, 1))
        for name, (_, wide, _) in KEYED.items():
            slope = moved([f"{name}@{key}" for key in self.data.keys])
            ratio = np.array([wide / narrow(name, generation) for generation in generation_of])
            for key in self.data.keys:
                put(f"{name}@{key}", slope, keys == key)
            for engine in self.engines:
                put(f"{name}@{engine}", slope * ratio, engine_of == engine)
        slope, line_of = moved([f"age@{name}" for name in self.lines]), np.array([line(name) for name in generation_of])
        for name in self.lines:
            put(f"age@{name}", slope, line_of == name)
        put("receive", moved(["receive"]), everyone)
        slope = moved([f"together@{name}" for name in TOGETHER])
        for name in TOGETHER:
            put(f"together@{name}", slope, self.data.harness_index == list(BURST).index(name))
        slope = moved([f"burst@{name}" for name in BURST])
        for index, name in enumerate(BURST):
            put(f"burst@{name}", slope, self.data.harness_index == index)
        return out


def narrow(name: str, generation: str) -> float:
    """Spread between generations of one engine."""
    return SLOWDOWN_SPREAD.get(generation, KEYED[name][2]) if name == "slowdown" else KEYED[name][2]


def fit(data: Stack, evaluations: int = 25) -> Solution:
    """Fit all factors on `data`."""
    problem = Problem(data)
    hardware, table, bench = problem.unpack(minimise(problem, evaluations))
    plain = {key: _plain(value) for key, value in table.items()}
    solution = Solution(_plain(hardware), _with_means(plain), bench)
    solution.cells = _levels(solution, data)
    return solution


class Solvable(Protocol):
    """What `minimise` needs: parameters starting at 0, residuals and their slopes, upper bounds."""

    @property
    def names(self) -> Sequence[str]: ...
    def residuals(self, vector: Array) -> Array: ...
    def jacobian(self, vector: Array) -> Array: ...
    def upper(self) -> Array: ...


def minimise(problem: Solvable, evaluations: int) -> Array:
    """Levenberg-Marquardt under soft L1 by reweighting, steps cut at the bounds. Normal equations: a tenth of the time of scipy's SVD."""
    vector: Array = np.zeros(len(problem.names))
    damping = 1e-3
    upper = problem.upper()
    residuals = problem.residuals(vector)
    cost = soft_l1(residuals)
    for _ in range(evaluations):
        weight = (1 + residuals**2) ** -0.5
        slopes = problem.jacobian(vector)
        normal, gradient = slopes.T @ (slopes * weight[:, None]), slopes.T @ (residuals * weight)
        before = cost
        while damping < 1e6:
            step = cast(Any, np.linalg).solve(normal + damping * np.diag(np.diag(normal)), -gradient)
            moved = cast(Any, np).clip(vector + step, -8.0, upper)
            tried = problem.residuals(moved)
            if soft_l1(tried) < cost:
                vector, residuals, cost, damping = moved, tried, soft_l1(tried), damping / 5
                break
            damping *= 4
        if before - cost < TOLERANCE * before:
            break
    return vector


def soft_l1(residuals: Array) -> float:
    """Half the sum of 2 (sqrt(1 + r^2) - 1): squares near 0, a linear tail."""
    return float(np.sum(np.sqrt(1 + residuals**2) - 1))


def _levels(solution: Solution, data: Stack) -> dict[str, float]:
    """What is left of the step time in each measured cell after the common factors, drawn towards 1."""
    left = np.log(data.measured["tpot"] / solution.predict(data)["tpot"])
    members: dict[str, list[float]] = {}
    for name, value in zip(data.cells, left, strict=True):
        members.setdefault(name, []).append(float(value))
    return {name: float(np.exp(np.median(values) * len(values) / (len(values) + CELL_SHRINK))) for name, values in sorted(members.items())}


def _cell_weights(data: Stack) -> Array:
    """Large sweeps count less per point: a cell of n points weighs n^(1 - CELL_POWER), scaled to mean 1."""
    counts = Counter(point.cell for point in data.points)
    weights = np.array([counts[point.cell] ** -CELL_POWER for point in data.points])
    return np.sqrt(weights / weights.mean())


def _plain(struct: Any) -> Any:
    return type(struct)(**{name: float(value) for name, value in structs.asdict(struct).items()})


def _with_means(table: dict[str, Scheduling]) -> dict[str, Scheduling]:
    """Add what stands for an unseen generation: the engine's mean, but not the slowness of generations whose software is young."""
    out = dict(table)
    engines = sorted({key.split("/")[0] for key in table})
    for engine in engines:
        mine = {key: value for key, value in table.items() if key.startswith(f"{engine}/")}
        usual = [value for key, value in mine.items() if key.split("/")[1] not in SLOWDOWN_SPREAD]
        level = _mean(usual) if usual else Scheduling(request_s=0.0, poll_steps=0.0)
        out[f"{engine}/*"] = structs.replace(_mean(list(mine.values())), slowdown=level.slowdown, kernels=level.kernels, age_per_year=0.0)
        for own in sorted({line(key.split("/")[1]) for key in mine} & set(AGE_SPREAD)):
            ages = [value.age_per_year for key, value in mine.items() if line(key.split("/")[1]) == own]
            out[f"{engine}/{own}"] = structs.replace(out[f"{engine}/*"], age_per_year=float(np.mean(ages)))
    out["*/*"] = _mean([out[f"{engine}/*"] for engine in engines])
    return out


def _mean(rows: Sequence[Scheduling]) -> Scheduling:
    fields = {name: [structs.asdict(row)[name] for row in rows] for name in Scheduling.__struct_fields__}
    return Scheduling(**{name: float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else 0.0 for name, values in fields.items()})
