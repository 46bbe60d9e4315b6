"""Which fitted factors stand for a GPU: its generation by architecture, and what to fall back to for a GPU or engine nobody measured."""

from collections.abc import Mapping

from msgspec import structs

from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration, Scheduling
from serveright.types.hardware import Gpu


def generation(gpu: Gpu) -> str:
    """The first word of the architecture in lower case: `Blackwell Ultra` runs the software of `blackwell`."""
    words = gpu.architecture.lower().split()
    return words[0] if words else "unknown"


def age_years(calibration: Calibration, released: str) -> float:
    """Age of an engine version (release date YYYY-MM-DD or YYYY-MM) against the measured ones, negative for newer ones; 0 where no date is known."""
    if not released or not calibration.age_from:
        return 0.0
    return _months(calibration.age_from, min(released[:7], calibration.age_newest or released[:7])) / 12


def _months(start: str, month: str) -> int:
    """From `month` to `start`."""
    return (int(start[:4]) - int(month[:4])) * 12 + int(start[5:7]) - int(month[5:7])


def line(name: str) -> str:
    """A generation without its number: `cdna3` and `cdna4` run software of one line."""
    return name.rstrip("0123456789")


def nearest(table: Mapping[str, Scheduling], engine: str, name: str) -> Scheduling:
    """The most exact entry: this engine on this generation, on its line, on anything, and any engine."""
    for key in (f"{engine}/{name}", f"{engine}/{line(name)}", f"{engine}/*", "*/*"):
        if key in table:
            return table[key]
    raise KeyError(f"{engine}/{name}")


def scheduling(calibration: Calibration, engine: str, gpu: Gpu) -> tuple[Scheduling, bool]:
    """The most exact entry for engine and generation, and whether exactly this pair was measured."""
    name = generation(gpu)
    return nearest(calibration.scheduling, engine, name), f"{engine}/{name}" in calibration.scheduling


def pace(calibration: Calibration, engine: str, gpu: Gpu, work: ModelWork) -> tuple[Scheduling, bool]:
    """`scheduling` with the measured level of this very combination, where there is one."""
    table, exact = scheduling(calibration, engine, gpu)
    known = calibration.cells.get(cell(work, gpu.key, engine), 1.0)
    return structs.replace(table, slowdown=table.slowdown * known), exact


def cell(work: ModelWork, gpu_key: str, engine: str) -> str:
    """A combination somebody may have measured: layers, width, experts and stored bits of a model on one GPU and engine."""
    routed = work.experts[0] if work.experts else None
    elements, size = (routed.elements, routed.bytes) if routed else (sum(b.elements for b in work.bundles), sum(b.bytes for b in work.bundles))
    bits = next((name for name in (4, 8) if 8 * size / max(elements, 1) < name * 1.4), 16)
    experts = f"{routed.experts}x{routed.per_token:g}" if routed else "dense"
    return f"{work.layers}-{work.hidden}-{experts}-{bits}bit/{gpu_key}/{engine}"
