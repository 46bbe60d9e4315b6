"""Block-scaled number formats worked through by hand: the grids of FP4 and FP8, and what a block of numbers becomes in NVFP4 and MXFP4."""

import math
from collections.abc import Sequence

from msgspec import Struct

FP4_GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Magnitudes of E2M1 (OCP Microscaling Formats 1.0)."""
FP4_MAX, E4M3_MAX = 6.0, 448.0


class Block(Struct, frozen=True, kw_only=True):
    """A block after rounding: its scale, the codes (multiples of the scale), the numbers they stand for, and the largest and mean error."""

    scale: float
    codes: tuple[float, ...]
    values: tuple[float, ...]
    worst: float
    mean: float


def e2m1(value: float) -> float:
    """The nearest FP4 number, ties to the even code, beyond the end the end."""
    size = min(abs(value), FP4_MAX)
    near = min(range(len(FP4_GRID)), key=lambda i: (abs(FP4_GRID[i] - size), i % 2))
    return math.copysign(FP4_GRID[near], value)


def e4m3(value: float) -> float:
    """The nearest FP8 E4M3 number: three bits after the point, exponents from -6, 448 at most."""
    if value == 0:
        return 0.0
    size = min(abs(value), E4M3_MAX)
    step = 2.0 ** (max(math.floor(math.log2(size)), -6) - 3)
    return math.copysign(min(round(size / step) * step, E4M3_MAX), value)


def e8m0(value: float) -> float:
    """A power of two for the block: 2^(floor(log2(amax)) - 2), the shared exponent of MXFP4 (OCP Microscaling Formats 1.0, 6.3)."""
    return 2.0 ** (math.floor(math.log2(value)) - 2)


def nvfp4(block: Sequence[float]) -> Block:
    """16 numbers with an E4M3 scale of amax / 6."""
    return _rounded(block, e4m3(max(map(abs, block)) / FP4_MAX))


def mxfp4(block: Sequence[float]) -> Block:
    """32 numbers (here as many as given) with a power of two as scale."""
    return _rounded(block, e8m0(max(map(abs, block))))


def _rounded(block: Sequence[float], scale: float) -> Block:
    codes = tuple(e2m1(value / scale) for value in block)
    values = tuple(code * scale for code in codes)
    errors = [abs(value - made) for value, made in zip(block, values, strict=True)]
    return Block(scale=scale, codes=codes, values=values, worst=max(errors), mean=sum(errors) / len(errors))
