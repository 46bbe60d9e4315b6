"""Grouped expert products from the table of isolated kernels: a floor and two shares of the datasheet per engine, generation and format.

No end-to-end row is read here and no entry is keyed by a model or a GPU.
"""

import csv
import gzip
from collections.abc import Iterator
from functools import cache
from statistics import median, median_low
from typing import Any

import numpy as np
from msgspec import Struct

from serveright.analysis.generation import generation
from serveright.types.calibration import ExpertKernel
from tools.fit.material import SHARED, load_gpus
from tools.fit.solve import minimise

Array = Any
TABLE = SHARED / "cases" / "kernels.csv.gz"
FORMATS = {
    "bfloat16": ("bf16", 16.0, 16), "fp8_block": ("fp8", 8.0, 8), "nvfp4": ("nvfp4", 4.5, 4), "int4_wo": ("int4", 4.5, 16),
    "w4a16_mxfp4": ("mxfp4", 4.25, 16), "w4a8_mxfp4_mxfp8": ("mxfp4", 4.25, 8),
}  # fmt: skip
"""Type of the table -> (format, stored bits with scales, width of the arithmetic). FP8 with one scale per tensor is left out: on Hopper vLLM's kernel for
it reaches 8-12 % of bandwidth in the table, far below what served models need."""
BEND = 0.15
"""Log residual from which on a row counts linearly."""
START = (2e-5, 0.7, 0.3)

Key = tuple[str, str, str]
"""Engine, generation, format."""
Shape = tuple[str, ...]


class Row(Struct, frozen=True):
    """One measured kernel: seconds at datasheet speed for reading and for multiplying, and what it took."""

    read_s: float
    product_s: float
    measured_s: float


class Curve:
    """`floor + ((read / bandwidth)^4 + (product / compute)^4)^(1/4)` through rows, in logarithms; a problem for `solve.minimise`."""

    names = ("floor_s", "bandwidth", "compute")

    def __init__(self, rows: list[Row]) -> None:
        self.read, self.product, self.measured = (np.array([getattr(row, name) for row in rows]) for name in Row.__struct_fields__)

    def upper(self) -> Array:
        return np.array([8.0, np.log(1 / START[1]), np.log(1 / START[2])])

    def values(self, vector: Array) -> Array:
        return np.array(START) * np.exp(vector)

    def residuals(self, vector: Array) -> Array:
        floor, bandwidth, compute = self.values(vector)
        return np.log((floor + ((self.read / bandwidth) ** 4 + (self.product / compute) ** 4) ** 0.25) / self.measured) / BEND

    def jacobian(self, vector: Array) -> Array:
        base, step = self.residuals(vector), 1e-5
        return np.stack([(self.residuals(vector + step * side) - base) / step for side in np.eye(len(self.names))], axis=1)


@cache
def expert_kernels() -> dict[str, ExpertKernel]:
    """Entries of `Calibration.expert_kernels`: every measured combination, then what stands for unmeasured ones."""
    out: dict[str, ExpertKernel] = {}
    pooled: dict[str, list[ExpertKernel]] = {}
    for (engine, own, name), (bits, rows) in _narrowest().items():
        curve = Curve(rows)
        floor, bandwidth, compute = (float(value) for value in curve.values(minimise(curve, 100)))
        entry = out[f"{engine}/{own}/{name}"] = ExpertKernel(floor_s=floor, bandwidth=bandwidth, compute=compute, bits=bits)
        for key in (f"*/{own}/{name}", f"{engine}/*/{name}", f"*/*/{name}"):
            pooled.setdefault(key, []).append(entry)
    out |= {key: _middle(entries) for key, entries in pooled.items()}
    return {**out, "*/*/nvfp4-unpacked": out["*/*/mxfp4-unpacked"]}


def _narrowest() -> dict[Key, tuple[int, list[Row]]]:
    """Rows of the narrowest arithmetic that any engine has for a format on a generation: the published sweeps and the engines' recipes ask for it.
    Of several kernels for one shape the fastest: engines pick it by shape."""
    found: dict[Key, dict[int, dict[Shape, Row]]] = {}
    for key, bits, shape, row in _rows():
        shapes = found.setdefault(key, {}).setdefault(bits, {})
        if shape not in shapes or shapes[shape].measured_s > row.measured_s:
            shapes[shape] = row
    out: dict[Key, tuple[int, list[Row]]] = {}
    for key, by_bits in found.items():
        bits = min(width for other, widths in found.items() if other[1:] == key[1:] for width in widths)
        if bits in by_bits:
            out[key] = (bits, list(by_bits[bits].values()))
    return out


def _rows() -> Iterator[tuple[Key, int, Shape, Row]]:
    gpus, names = load_gpus(), {16: "bf16", 8: "fp8", 4: "fp4"}
    with gzip.open(TABLE, "rt") as file:
        for row in csv.DictReader(file):
            gpu = gpus.get(row["gpu"].replace("_", "-"))
            if row["kind"] != "moe" or gpu is None or row["distribution"] != "balanced" or row["dtype"] not in FORMATS:
                continue
            name, stored, bits = FORMATS[row["dtype"]]
            if not gpu.flops.get(names[bits]):
                continue
            tokens, experts, chosen, tp, ep = (float(row[column]) for column in ("m", "experts", "topk", "tp", "ep"))
            elements = 3 * float(row["n"]) * float(row["k"]) / tp
            read = min(1.0, tokens * chosen / experts) * experts / ep * elements * stored / 8 / gpu.bandwidth_bytes_per_s
            product = 2 * tokens * chosen / ep * elements / gpu.flops[names[bits]]
            form = name if bits < 16 or not name.startswith("mxfp4") or gpu.flops.get("fp4") else f"{name}-unpacked"
            shape = (row["gpu"], row["model"], row["m"], row["tp"], row["ep"])
            yield (row["engine"], generation(gpu), form), bits, shape, Row(read, product, float(row["latency_ms"]) / 1e3)


def _middle(entries: list[ExpertKernel]) -> ExpertKernel:
    """Medians: the table has bad cells."""
    return ExpertKernel(
        floor_s=median(entry.floor_s for entry in entries),
        bandwidth=median(entry.bandwidth for entry in entries),
        compute=median(entry.compute for entry in entries),
        bits=median_low(entry.bits for entry in entries),
    )
