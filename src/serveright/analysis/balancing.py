"""From measured expert loads to a decision: how many redundant experts are worth their memory on these GPUs, and with which flags."""

from collections.abc import Sequence

from msgspec import Struct

from serveright.analysis.experts import Loads, balance, balance_flags, imbalance
from serveright.types.answers import ExpertBalance, Redundancy
from serveright.types.engine_table import EngineName
from serveright.types.text import Msg, msg

MULTIPLES = (0, 1, 2, 4)
"""Redundant experts tried, in slots per GPU."""
WORTH = 0.02
"""Gain of a prefill below which nothing is changed."""
NEARLY = 0.98
"""The fewest redundant experts that reach this share of the best speed are taken."""


class Group(Struct, frozen=True, kw_only=True):
    """One expert-parallel group. `expert_bytes`: one expert of one layer; `expert_share`: of a balanced prefill; `free_bytes` per GPU for more experts."""

    gpus: int
    engine: EngineName
    nodes: int = 1
    expert_groups: int = 1
    expert_bytes: float = 0.0
    expert_share: float = 0.5
    free_bytes: float = 0.0


def expert_balance(loads: Loads, group: Group) -> ExpertBalance:
    """Today's order of experts against EPLB with more and more redundant ones."""
    experts = len(loads[0])
    today = imbalance(loads, group.gpus)
    choices = tuple(_tried(loads, group, extra) for extra in _extras(experts, group.gpus))
    fitting = [choice for choice in choices if choice.fits]
    top = max((choice.prefill_gain for choice in fitting), default=0.0)
    chosen = next((c for c in fitting if 1 + c.prefill_gain >= NEARLY * (1 + top)), None) if top > WORTH else None
    worst = max(range(len(today.per_gpu)), key=today.per_gpu.__getitem__)
    return ExpertBalance(
        layers=len(loads),
        experts=experts,
        gpus=group.gpus,
        hottest_expert=today.expert_mean,
        hottest_gpu=today.gpu_mean,
        worst_layer=worst,
        worst_layer_gpu=today.per_gpu[worst],
        choices=choices,
        flags=balance_flags(group.engine, chosen.redundant_experts) if chosen else (),
        advice=_advice(chosen, choices),
    )


def _extras(experts: int, gpus: int) -> Sequence[int]:
    """Counts that make slots divide over the GPUs."""
    first = -experts % gpus
    return [first + multiple * gpus for multiple in MULTIPLES]


def _tried(loads: Loads, group: Group, extra: int) -> Redundancy:
    slots = len(loads[0]) + extra
    whole = len(loads[0]) % group.expert_groups == 0 and group.expert_groups % group.nodes == 0 and slots % group.nodes == 0
    found = balance(
        loads, gpus=group.gpus, nodes=group.nodes if whole else 1, groups=group.expert_groups if whole else 1, extra=extra,
        expert_bytes=group.expert_bytes, expert_share=group.expert_share, engine=group.engine,
    )  # fmt: skip
    price = extra / group.gpus * group.expert_bytes * len(loads)
    return Redundancy(
        redundant_experts=extra, hottest_gpu=found.after.gpu_mean, prefill_gain=found.throughput_gain, extra_bytes_per_gpu=price, fits=price <= group.free_bytes
    )  # fmt: skip


def _advice(chosen: Redundancy | None, choices: Sequence[Redundancy]) -> Msg:
    if chosen is None:
        top = max(choice.prefill_gain for choice in choices)
        if top > WORTH:
            return msg("balancing would lift a large prefill by {gain:pct}, but no memory is left for it", gain=top)
        return msg("the load is even enough: balancing gains nothing worth its code path")
    return msg(
        "rebalance with {n} redundant experts: hottest GPU {after:.2f} times the mean, a large prefill {gain:pct} faster, {bytes:gib} on each GPU",
        n=chosen.redundant_experts,
        after=chosen.hottest_gpu,
        gain=chosen.prefill_gain,
        bytes=chosen.extra_bytes_per_gpu,
    )
