"""Is the layout that the model picks the one that measured best? Scored beside rules that know nothing."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from msgspec import Struct

from tools.fit.rows import Point

Array = Any
CLOSE = 0.95
"""A pick counts when it reaches this share of the best measured throughput."""
NODE = 8


class Score(Struct, frozen=True, kw_only=True):
    """Shares of groups where the pick is within 5 % of the best, mean regret of the model's picks, and the best rule without a model."""

    groups: int
    model: float
    regret: float
    naive: float
    naive_rule: str


class Choice(Struct, frozen=True, kw_only=True):
    """One layout of a group."""

    measured: float
    predicted: float
    gpus: int
    experts: bool
    ranks: bool


def conditions(point: Point) -> tuple[Hashable, ...]:
    """What must be equal for layouts to be comparable."""
    return (*point.cell, point.nominal, point.harness)


def equal_gpus(points: list[Point], predicted: Array) -> Score:
    """TP, EP or data-parallel attention on the same number of GPUs at the same concurrency."""
    groups: dict[Hashable, dict[Hashable, Choice]] = defaultdict(dict)
    for point, value in _newest(points, predicted):
        groups[(*conditions(point), point.parallel.gpus, point.concurrency)][point.layout] = _choice(point, value)
    return _score(groups.values(), {"TP only": lambda c: c.ranks * 2 + c.experts, "EP": lambda c: 1 - c.experts})


def eight_gpus(points: list[Point], predicted: Array) -> Score:
    """Replicas against one wide instance on 8 GPUs at the same total concurrency (built from single instances, perfect routing)."""
    groups: dict[Hashable, dict[Hashable, Choice]] = defaultdict(dict)
    for point, value in _newest(points, predicted):
        if NODE % point.parallel.gpus == 0:
            total = point.concurrency * NODE / point.parallel.gpus
            groups[(*conditions(point), total)][point.layout] = _choice(point, value)
    wide = [group for group in groups.values() if len({choice.gpus for choice in group.values()}) > 1]
    return _score(wide, {"smallest instance": lambda c: c.gpus, "widest instance": lambda c: -c.gpus})


def _newest(points: list[Point], predicted: Array) -> Iterable[tuple[Point, float]]:
    """Oldest first, so that the newest month of a layout stays."""
    return sorted(zip(points, predicted, strict=True), key=lambda pair: -pair[0].age_years)


def _choice(point: Point, value: float) -> Choice:
    return Choice(measured=point.per_gpu, predicted=float(value), gpus=point.parallel.gpus, experts=point.parallel.ep > 1, ranks=point.parallel.dp > 1)


def _score(groups: Iterable[dict[Hashable, Choice]], rules: dict[str, Callable[[Choice], float]]) -> Score:
    real = [list(group.values()) for group in groups if len(group) > 1]

    def share(key: Callable[[Choice], float]) -> tuple[float, float]:
        picked = [min(group, key=key).measured / max(choice.measured for choice in group) for group in real]
        return sum(ratio >= CLOSE for ratio in picked) / len(picked), sum(1 - ratio for ratio in picked) / len(picked)

    model, regret = share(lambda choice: -choice.predicted)
    naive = {name: share(rule)[0] for name, rule in rules.items()}
    best = max(naive, key=naive.__getitem__)
    return Score(groups=len(real), model=model, regret=regret, naive=naive[best], naive_rule=best)
