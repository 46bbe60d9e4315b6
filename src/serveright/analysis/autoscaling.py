"""How many copies a rate curve needs, and which limits of the plan to watch on the running servers. Pure."""

import math
from collections.abc import Sequence

from msgspec import Struct

from serveright.types.deployment import Bound
from serveright.types.derivation import Derivation
from serveright.types.design import Estimate
from serveright.types.engine import Sized
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

HEADROOM = 0.8
"""Share of a copy's rate that is planned: arrivals come in bursts, and a queue grows without bound at 1."""
KV_USAGE = 0.9
"""Beyond it the next long answer preempts another one."""
SLACK = 1.5
"""Without targets: this much above the plan's own estimate is worth a look."""


class Step(Struct, frozen=True, kw_only=True):
    """From `at_s` on, `copies` run to serve `rate_per_s`."""

    at_s: float
    rate_per_s: float
    copies: int


class Schedule(Struct, frozen=True, kw_only=True):
    """`copy_hours` over the curve's length against `fixed_copy_hours` of always running the peak."""

    steps: tuple[Step, ...]
    peak: int
    copy_hours: float
    fixed_copy_hours: float
    derivation: tuple[Derivation, ...]


def copies_for(rate_per_s: float, copy_rate_per_s: float, headroom: float = HEADROOM, least: int = 1) -> int:
    """Copies whose planned share carries a rate."""
    return max(least, math.ceil(rate_per_s / (copy_rate_per_s * headroom) - 1e-9))


def schedule(
    curve: Sequence[tuple[float, float]], length_s: float, copy_rate_per_s: float, startup_s: float, headroom: float = HEADROOM, least: int = 1
) -> Schedule:
    """Copies over time for a curve of (second, requests/s) pairs that holds until the next pair, `length_s` in all.

    A copy takes `startup_s` to answer, so each step looks that far ahead: copies for a rise are started before it.
    """
    points = sorted(curve)
    ends = [*(at for at, _ in points[1:]), length_s]
    changes = sorted({max(points[0][0], at - startup_s) for at, _ in points} | {at for at, _ in points})
    steps: list[Step] = []
    for at in changes:
        ahead = max(rate for (start, rate), end in zip(points, ends, strict=True) if start <= at + startup_s and end > at)
        now = next(rate for start, rate in reversed(points) if start <= at)
        copies = copies_for(ahead, copy_rate_per_s, headroom, least)
        if not steps or steps[-1].copies != copies:
            steps.append(Step(at_s=at, rate_per_s=now, copies=copies))
    peak = max(step.copies for step in steps)
    until = [*(step.at_s for step in steps[1:]), length_s]
    hours = sum(step.copies * (end - step.at_s) for step, end in zip(steps, until, strict=True)) / 3600
    highest = max(rate for _, rate in points)
    needed = Derivation(
        name="copies at the peak",
        formula="ceil(rate / (copy_rate * headroom))",
        values={"rate": highest, "copy_rate": copy_rate_per_s, "headroom": headroom},
        result=math.ceil(highest / (copy_rate_per_s * headroom)),
        unit="copies",
        reason=msg("a copy is planned to {headroom:pct} of its rate, so that bursts do not queue", headroom=headroom),
    )
    return Schedule(steps=tuple(steps), peak=peak, copy_hours=hours, fixed_copy_hours=peak * (length_s - points[0][0]) / 3600, derivation=(needed,))


def bounds(sized: Sized, estimate: Estimate | None, traffic: Traffic, copies: int = 1) -> tuple[Bound, ...]:
    """The plan's own limits: what it was sized for, and the targets it promised."""
    found = [
        Bound(name="kv_usage", value=KV_USAGE, why=msg("beyond it running requests are preempted and computed again")),
        Bound(name="preemptions_per_s", value=0.02, for_s=600, why=msg("each preemption throws a prompt's work away; the cache is too small for this traffic")),
    ]
    planned = sized.capacity.max_concurrency
    if traffic.concurrency is not None:
        planned = min(planned, traffic.concurrency / copies)
    elif estimate is not None:
        planned = min(planned, estimate.max_concurrency / copies)
    planned = max(1.0, planned)
    found.append(Bound(name="running_per_copy", value=planned, why=msg("requests at once that one copy was planned for")))
    found.append(Bound(name="waiting", value=max(1.0, planned / 4), why=msg("a quarter of a batch waits: new requests see it in their first token")))
    ttft = traffic.ttft_target_s or (SLACK * estimate.ttft_median_s if estimate else None)
    tpot = traffic.tpot_target_s or (SLACK * estimate.tpot_s if estimate else None)
    if ttft:
        found.append(Bound(name="ttft_s", value=ttft, why=_promise(traffic.ttft_target_s)))
    if tpot:
        found.append(Bound(name="tpot_s", value=tpot, why=_promise(traffic.tpot_target_s)))
    return tuple(found)


def _promise(target: float | None) -> Msg:
    return msg("the target of the plan") if target else msg("half above what the plan expects")
