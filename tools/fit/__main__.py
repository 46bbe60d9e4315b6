"""`python -m tools.fit`: fit on the measured points beside the project, report left-out errors, write `facts/calibration/performance.toml`."""

import csv
import gzip
import sys
from statistics import median

import numpy as np
from msgspec import structs

from serveright.types.calibration import Calibration, Hardware, Scheduling
from tools.fit import drafted, evaluate
from tools.fit.kernels import expert_kernels
from tools.fit.material import ROOT, SHARED
from tools.fit.model import TARGETS
from tools.fit.rows import NEWEST_DATE, REFERENCE_DATE, load
from tools.fit.solve import KEYED, PRIOR

AS_OF = "2026-11-29"
TARGET = ROOT / "src" / "serveright" / "facts" / "calibration" / "performance.toml"
COLLECTIVE_S = {"nvlink": 5e-6, "xgmi": 10e-6, "pcie": 25e-6, "network": 25e-6}
"""Isolated latency of a 16 KB all-reduce inside a graph: measured on NVLink (4.5-8 us), assumed elsewhere."""
SPECULATION = {"draft_step_s": 1.5e-4}
"""Host time of one draft step (assumed)."""


def gemm_shares() -> dict[str, float]:
    """Median share of peak of large GEMMs (m >= 8192) by activation format, all GPUs and engines of the kernel table."""
    found: dict[str, list[float]] = {}
    with gzip.open(SHARED / "cases" / "kernels.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["kind"] != "gemm" or not row["m"] or float(row["m"]) < 8192 or not row["frac_peak_flops"]:
                continue
            name = next((to for word, to in (("nvfp4", "fp4"), ("fp8", "fp8"), ("float16", "bf16")) if word in row["dtype"]), None)
            if name:
                found.setdefault(name, []).append(float(row["frac_peak_flops"]))
    shares = {name: round(median(values), 2) for name, values in found.items()}
    return {**shares, "fp16": shares["bf16"], "int8": shares["fp8"]}


def start() -> Calibration:
    """A calibration that only the split needs: GEMM shares and latencies."""
    hardware = Hardware(**{name: centre for name, (centre, _) in PRIOR.items()})
    table = {"*/*": Scheduling(**{name: centre for name, (centre, _, _) in KEYED.items()})}
    return Calibration(
        source="",
        as_of=AS_OF,
        rows=0,
        hardware=hardware,
        gemm=gemm_shares(),
        collective_s=COLLECTIVE_S,
        expert_kernels=expert_kernels(),
        scheduling=table,
        interval={},
    )


def main() -> int:
    points = load(SHARED / "cases" / "measured.jsonl")
    base = start()
    solution, inside = evaluate.fitted(points, base)
    measured = {name: np.array([np.nan if read(p) is None else read(p) for p in points], float) for name, read in TARGETS.items()}
    predictions = {"in sample": inside, **{name: evaluate.left_out(points, base, group) for name, group in evaluate.GROUPS.items()}}
    for name, got in predictions.items():
        line = " | ".join(f"{target} {100 * m:.1f} / {100 * p:.1f} ({n})" for target in TARGETS for m, p, n in [evaluate.errors(got[target], measured[target])])
        print(f"{name:12s} {line}")
    logs = {name: {target: np.log(got[target] / measured[target]) for target in TARGETS} for name, got in predictions.items()}
    limits = {target: evaluate.interval([logs["model"][target], logs["gpu"][target]]) for target in TARGETS}
    limits |= {f"{target}/unseen": widened(limits[target], evaluate.interval([logs["generation"][target]])) for target in TARGETS}
    fitted = structs.replace(
        base, source=f"tools/fit on {len(points)} public measurements (InferenceX, NVIDIA gap analysis) and the aiconfigurator kernel table", rows=len(points),
        age_from=REFERENCE_DATE, age_newest=NEWEST_DATE, hardware=solution.hardware, scheduling=solution.table, interval=limits, speculation=SPECULATION, cells=solution.cells,
    )  # fmt: skip
    rates = drafted.acceptance(drafted.load_drafted(SHARED / "cases" / "measured.jsonl"), fitted)
    TARGET.write_text(toml(structs.replace(fitted, speculation={**rates, **SPECULATION})))
    return 0


def widened(usual: tuple[float, float], unseen: tuple[float, float]) -> tuple[float, float]:
    """Never narrower than the usual interval."""
    return min(usual[0], unseen[0]), max(usual[1], unseen[1])


def toml(calibration: Calibration) -> str:
    """The file, four significant digits."""
    lines = [
        "# Written by `python -m tools.fit`; do not edit. Meanings: serveright.types.calibration.",
        f'source = "{calibration.source}"',
        f'as_of = "{calibration.as_of}"',
        f"rows = {calibration.rows}",
        f'age_from = "{calibration.age_from}"',
        f'age_newest = "{calibration.age_newest}"',
    ]
    for name in ("hardware", "gemm", "collective_s", "speculation"):
        values = getattr(calibration, name)
        table = structs.asdict(values) if isinstance(values, Hardware) else values
        lines += ["", f"[{name}]", *(f"{key} = {number(value)}" for key, value in table.items())]
    lines += ["", "[interval]", *(f'"{key}" = [{number(low)}, {number(high)}]' for key, (low, high) in calibration.interval.items())]
    lines += ["", "[cells]", *(f'"{key}" = {number(value)}' for key, value in calibration.cells.items())]
    for key, kernel in sorted(calibration.expert_kernels.items()):
        lines += [
            "",
            f'[expert_kernels."{key}"]',
            *(f"{name} = {value if name == 'bits' else number(value)}" for name, value in structs.asdict(kernel).items()),
        ]
    for key, row in calibration.scheduling.items():
        lines += ["", f'[scheduling."{key}"]', *(f"{name} = {number(value)}" for name, value in structs.asdict(row).items())]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A TOML float."""
    text = f"{value:.4g}"
    return text if any(mark in text for mark in ".en") else f"{text}.0"


if __name__ == "__main__":
    sys.exit(main())
