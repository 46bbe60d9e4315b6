"""Models onto a stock of GPUs at least cost: a mixed-integer programme handed to HiGHS (SciPy). Pure; the offers are made elsewhere.

copies of each offer are whole numbers; each model's copies carry its rate; each kind's copies fit its stock; the sum of prices is least.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from serveright.types.placing import Offer, Placed, Shelf, Short, Wish
from serveright.types.text import msg

UNPRICED = 1.0
"""Where no price is known every GPU counts alike, and no sum of money is given."""


class Solution(Struct, frozen=True, kw_only=True):
    """`unmet` requests a second by model; all 0 where everything fits."""

    placed: tuple[Placed, ...]
    unmet: dict[str, float]
    proved: bool


def place(wishes: Sequence[Wish], offers: Sequence[Offer], shelves: Sequence[Shelf], headroom: float) -> tuple[Solution, tuple[Short, ...]]:
    """The least costly placement; where the stock is too small the one that leaves least unmet, and what is short."""
    best = solve(wishes, offers, shelves, headroom)
    missing = {model: rate for model, rate in best.unmet.items() if rate > 1e-6}
    return best, tuple(_short(model, rate, wishes, offers, shelves, headroom) for model, rate in missing.items())


def solve(wishes: Sequence[Wish], offers: Sequence[Offer], shelves: Sequence[Shelf], headroom: float, free: str | None = None) -> Solution:
    """One programme. `free` names a kind of GPU without limit. Unmet rate is allowed and costs more than any GPU could save."""
    import importlib

    import numpy as np

    solver: Any = importlib.import_module("scipy.optimize")  # heavy, and an optional extra
    prices = {shelf.gpu: UNPRICED if shelf.usd_per_gpu_hour is None else shelf.usd_per_gpu_hour for shelf in shelves}
    count, asked = len(offers), len(wishes)
    costs = np.array([offer.gpus * prices[offer.gpu] for offer in offers] + [0.0] * asked)
    worst = sum(shelf.count * prices[shelf.gpu] for shelf in shelves) + 1.0
    costs[count:] = [10.0 * worst / max(wish.rate_per_s, 1e-9) for wish in wishes]
    rows: list[Any] = []
    low: list[float] = []
    high: list[float] = []
    for number, wish in enumerate(wishes):
        row = np.zeros(count + asked)
        row[:count] = [offer.rate_per_s * headroom if offer.model == wish.model else 0.0 for offer in offers]
        row[count + number] = 1.0
        rows.append(row)
        low.append(wish.rate_per_s)
        high.append(np.inf)
    for shelf in shelves:
        row = np.zeros(count + asked)
        row[:count] = [offer.gpus if offer.gpu == shelf.gpu else 0.0 for offer in offers]
        rows.append(row)
        low.append(0.0)
        high.append(np.inf if shelf.gpu == free else shelf.count)
    integrality = np.array([1] * count + [0] * asked)
    limits = solver.LinearConstraint(np.array(rows), low, high)
    found: Any = solver.milp(costs, constraints=limits, integrality=integrality, bounds=solver.Bounds(0, np.inf))
    copies = [round(value) for value in found.x[:count]]
    known = {shelf.gpu for shelf in shelves if shelf.usd_per_gpu_hour is not None}
    placed = tuple(
        Placed(offer=offer, copies=number, usd_per_hour=offer.gpus * prices[offer.gpu] * number if offer.gpu in known else None)
        for offer, number in zip(offers, copies, strict=True)
        if number
    )
    return Solution(placed=placed, unmet={wish.model: float(found.x[count + number]) for number, wish in enumerate(wishes)}, proved=found.status == 0)


def _short(model: str, rate: float, wishes: Sequence[Wish], offers: Sequence[Offer], shelves: Sequence[Shelf], headroom: float) -> Short:
    """How many more GPUs of each kind, alone, would let everything fit."""
    mine = [offer for offer in offers if offer.model == model]
    if not mine:
        return Short(model=model, unmet_per_s=rate, more_gpus={}, why=msg("no GPU of this stock serves this model within its targets"))
    more: dict[str, int] = {}
    for shelf in shelves:
        if not any(offer.gpu == shelf.gpu for offer in mine):
            continue
        enough = solve(wishes, offers, shelves, headroom, free=shelf.gpu)
        if all(unmet < 1e-6 for unmet in enough.unmet.values()):
            used = sum(item.offer.gpus * item.copies for item in enough.placed if item.offer.gpu == shelf.gpu)
            more[shelf.gpu] = max(0, used - shelf.count)
    why = msg("the stock is used up; more GPUs of one kind would do") if more else msg("no single kind of GPU closes the gap")
    return Short(model=model, unmet_per_s=rate, more_gpus=more, why=why)
