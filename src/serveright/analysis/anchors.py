"""Correction by the user's own measurements: one or two points of a server teach more about it than any further factor.

The correction is a factor per quantity, drawn towards 1 as far as the model is trusted; two points at different loads also tilt it with concurrency.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

PRIOR_SPREAD = 0.18
"""Standard deviation of the model's own log error for an unmeasured server (left-out residuals of the fit)."""
POINT_SPREAD = 0.08
"""The same of one measured point: identical configurations differ by that much between months."""
TILT_SPREAD = 0.03
"""Of the change of that error per doubling of concurrency."""


class Anchor(Struct, frozen=True, kw_only=True):
    """One measured point beside what the model says for it. Seconds; None where it was not measured."""

    concurrency: float
    measured: dict[str, float]
    """Keys are fields of `Estimate`: tpot_s, ttft_mean_s, ttft_median_s, output_tokens_per_s."""
    predicted: dict[str, float]


class Correction(Struct, frozen=True, kw_only=True):
    """log factor = `level` + `tilt` x log2(concurrency / `at`) by quantity; `narrowing` is the share of the interval's width that is left."""

    level: dict[str, float]
    tilt: dict[str, float]
    at: dict[str, float]
    narrowing: dict[str, float]

    def factor(self, quantity: str, concurrency: float) -> float:
        """What to multiply a prediction with; 1 for quantities nobody measured."""
        if quantity not in self.level:
            return 1.0
        doublings = math.log2(concurrency / self.at[quantity])
        return math.exp(self.level[quantity] + self.tilt[quantity] * max(-3.0, min(3.0, doublings)))


def correction(anchors: Sequence[Anchor]) -> Correction:
    """Best linear correction under the three spreads above (a two-parameter Gaussian posterior, solved by hand)."""
    level: dict[str, float] = {}
    tilt: dict[str, float] = {}
    at: dict[str, float] = {}
    narrowing: dict[str, float] = {}
    for quantity in sorted({name for anchor in anchors for name in anchor.measured}):
        points = [
            (math.log2(anchor.concurrency), math.log(anchor.measured[quantity] / anchor.predicted[quantity]))
            for anchor in anchors
            if quantity in anchor.measured and anchor.predicted.get(quantity, 0) > 0 and anchor.measured[quantity] > 0
        ]
        if not points:
            continue
        centre = sum(x for x, _ in points) / len(points)
        noise = POINT_SPREAD**-2
        spread = sum((x - centre) ** 2 for x, _ in points)
        level[quantity] = noise * sum(y for _, y in points) / (noise * len(points) + PRIOR_SPREAD**-2)
        tilt[quantity] = noise * sum((x - centre) * y for x, y in points) / (noise * spread + TILT_SPREAD**-2)
        at[quantity] = 2**centre
        left = 1 / (len(points) * noise + PRIOR_SPREAD**-2)
        narrowing[quantity] = math.sqrt((left + POINT_SPREAD**2) / (PRIOR_SPREAD**2 + POINT_SPREAD**2))
    return Correction(level=level, tilt=tilt, at=at, narrowing=narrowing)
