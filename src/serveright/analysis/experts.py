"""Expert balance: how uneven a load is, where replicas should go, what that gains and costs.

Placement follows the published EPLB procedure (deepseek-ai/EPLB): groups to nodes, replicas inside a node, replicas to GPUs, heaviest first into the
lightest place that has a free slot. Loads are tokens per logical expert, one row per MoE layer; how to smooth them over time is the caller's business.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from serveright.errors import InputError
from serveright.types.design import FlagChoice
from serveright.types.engine_table import EngineName
from serveright.types.text import msg

if TYPE_CHECKING:
    import numpy as np

Loads = Sequence[Sequence[float]]


class Placement(Struct, frozen=True, kw_only=True):
    """Per layer: the logical expert in each physical slot (slots of one GPU side by side), and how many replicas each logical expert has."""

    gpus: int
    slots: tuple[tuple[int, ...], ...]
    replicas: tuple[tuple[int, ...], ...]


class Imbalance(Struct, frozen=True, kw_only=True):
    """Hottest over mean, per layer and as the mean over layers that a step feels (every layer waits for its hottest GPU)."""

    per_expert: tuple[float, ...]
    per_gpu: tuple[float, ...]
    expert_mean: float
    gpu_mean: float


class Balance(Struct, frozen=True, kw_only=True):
    """What rebalancing does: imbalance before and after, step time of a large prefill relative to today's, and extra weight bytes per GPU."""

    before: Imbalance
    after: Imbalance
    placement: Placement
    throughput_gain: float
    """0.18 = 18 % more tokens per second where expert work takes `expert_share` of a balanced step."""
    extra_bytes_per_gpu: float
    flags: tuple[FlagChoice, ...]


def imbalance(loads: Loads, gpus: int, placement: Placement | None = None) -> Imbalance:
    """How uneven `loads` is over experts and over `gpus`; without a placement experts lie in order, equally many per GPU."""
    matrix = _matrix(loads)
    per_gpu = _gpu_loads(matrix, gpus, placement)
    expert, device = (_hottest(matrix), _hottest(per_gpu))
    return Imbalance(per_expert=tuple(expert), per_gpu=tuple(device), expert_mean=sum(expert) / len(expert), gpu_mean=sum(device) / len(device))


def rebalance(loads: Loads, replicas: int, groups: int, nodes: int, gpus: int) -> Placement:
    """Place `replicas` physical experts on `gpus`. Hierarchical (whole groups stay inside a node) where `groups` divides over `nodes`, else global.

    Raises InputError where the counts do not divide: replicas over GPUs, experts over groups, GPUs over nodes.
    """
    import numpy as np

    matrix = _matrix(loads)
    experts = matrix.shape[1]
    if replicas < experts or replicas % gpus or experts % groups or gpus % nodes:
        raise InputError(
            msg(
                "{replicas} expert replicas of {experts} experts in {groups} groups do not divide over {gpus} GPUs on {nodes} nodes",
                replicas=replicas,
                experts=experts,
                groups=groups,
                gpus=gpus,
                nodes=nodes,
            ),
            msg("Take a number of replicas that is a multiple of the GPUs and not below the number of experts."),
        )
    if groups % nodes:
        groups = nodes = 1
    slots, counts = _hierarchical(matrix, replicas, groups, nodes, gpus)
    return Placement(gpus=gpus, slots=_rows(np.asarray(slots)), replicas=_rows(np.asarray(counts)))


def balance(
    loads: Loads,
    *,
    gpus: int,
    nodes: int = 1,
    groups: int = 1,
    extra: int = 0,
    expert_bytes: float = 0.0,
    expert_share: float = 0.5,
    engine: EngineName = "vllm",
) -> Balance:
    """Compare today's order of experts with EPLB and `extra` redundant experts. `expert_bytes`: one expert of one layer; `expert_share`: its share of a balanced step."""
    experts = len(loads[0])
    placement = rebalance(loads, experts + extra, groups, nodes, gpus)
    before, after = imbalance(loads, gpus), imbalance(loads, gpus, placement)
    if after.gpu_mean > before.gpu_mean:
        placement = Placement(gpus=gpus, slots=tuple(tuple(range(experts)) for _ in loads), replicas=tuple((1,) * experts for _ in loads))
        after, extra = before, 0
    slow, fast = ((1 - expert_share) + expert_share * side.gpu_mean for side in (before, after))
    return Balance(
        before=before,
        after=after,
        placement=placement,
        throughput_gain=slow / fast - 1,
        extra_bytes_per_gpu=extra / gpus * expert_bytes * len(loads),
        flags=balance_flags(engine, extra),
    )


def balance_flags(engine: EngineName, extra: int) -> tuple[FlagChoice, ...]:
    """The flags that make either engine rebalance with `extra` redundant experts."""
    why = msg("Expert load is uneven; replicas of hot experts are spread over the GPUs while serving.")
    slots = msg("{extra} further expert slots in all, paid in weight memory.", extra=extra)
    if engine == "vllm":
        switch = FlagChoice(flag="--enable-eplb", value=None, why=why)
        return (switch, FlagChoice(flag="--eplb-config.num_redundant_experts", value=str(extra), why=slots))
    return (
        FlagChoice(flag="--enable-eplb", value=None, why=why),
        FlagChoice(flag="--ep-num-redundant-experts", value=str(extra), why=slots),
    )


def _matrix(loads: Loads) -> "np.ndarray[Any, Any]":
    import numpy as np

    matrix = np.asarray(loads, dtype=float)
    if matrix.ndim != 2 or not matrix.size or (matrix < 0).any() or not np.isfinite(matrix).all():
        raise InputError(msg("The expert load must be one row of non-negative numbers per MoE layer."))
    return matrix


def _rows(array: "np.ndarray[Any, Any]") -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(value) for value in row) for row in array)


def _hottest(matrix: "np.ndarray[Any, Any]") -> list[float]:
    mean = matrix.mean(axis=1)
    return [float(top / middle) if middle > 0 else 1.0 for top, middle in zip(matrix.max(axis=1), mean, strict=True)]


def _gpu_loads(matrix: "np.ndarray[Any, Any]", gpus: int, placement: Placement | None) -> "np.ndarray[Any, Any]":
    import numpy as np

    layers, experts = matrix.shape
    slots: Any = np.asarray(placement.slots if placement else [list(range(experts))] * layers)
    counts = np.ones_like(matrix) if placement is None else np.asarray(placement.replicas)
    if slots.shape[1] % gpus:
        raise InputError(msg("The expert load is of {slots} experts, which do not divide over {gpus} GPUs", slots=slots.shape[1], gpus=gpus))
    share = np.take_along_axis(matrix / counts, slots, axis=1)
    return share.reshape(layers, gpus, -1).sum(axis=2)


def _hierarchical(matrix: "np.ndarray[Any, Any]", replicas: int, groups: int, nodes: int, gpus: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    import numpy as np

    layers, experts = matrix.shape
    size, groups_per_node = experts // groups, groups // nodes
    slots, counts = np.zeros((layers, replicas), dtype=int), np.zeros((layers, experts), dtype=int)
    for layer in range(layers):
        load = matrix[layer]
        packs = _pack(load.reshape(groups, size).sum(axis=1), nodes, groups_per_node)
        place = 0
        for members in packs:
            local: Any = np.asarray([expert for group in members for expert in range(group * size, (group + 1) * size)])
            copies = _replicate(load[local], replicas // nodes)
            share = load[local][copies] / np.bincount(copies, minlength=len(local))[copies]
            per_gpu = replicas // gpus
            for device in _pack(share, gpus // nodes, per_gpu):
                slots[layer, place : place + per_gpu] = local[copies[device]]
                place += per_gpu
        counts[layer] = np.bincount(slots[layer], minlength=experts)
    return slots, counts


def _pack(load: "np.ndarray[Any, Any]", packs: int, each: int) -> list[list[int]]:
    """Items, heaviest first, into the lightest pack with a free place."""
    if each == 1:
        return [[item] for item in range(packs)]
    members: list[list[int]] = [[] for _ in range(packs)]
    weight = [0.0] * packs
    for item in (-load).argsort(kind="stable"):
        pack = min((index for index in range(packs) if len(members[index]) < each), key=weight.__getitem__)
        members[pack].append(int(item))
        weight[pack] += float(load[item])
    return members


def _replicate(load: "np.ndarray[Any, Any]", total: int) -> "np.ndarray[Any, Any]":
    """Local experts of `total` slots: each further slot goes to the expert with the largest load per replica."""
    import numpy as np

    counts = np.ones(len(load))
    slots = list(range(len(load)))
    for _ in range(total - len(load)):
        hottest = int((load / counts).argmax())
        slots.append(hottest)
        counts[hottest] += 1
    return np.asarray(slots)
