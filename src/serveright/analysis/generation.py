"""Which fitted factors stand for a GPU: its generation by architecture, and what to fall back to for a GPU or engine nobody measured."""

from serveright.types.calibration import Calibration, Scheduling
from serveright.types.hardware import Gpu


def generation(gpu: Gpu) -> str:
    """The first word of the architecture in lower case: `Blackwell Ultra` runs the software of `blackwell`."""
    words = gpu.architecture.lower().split()
    return words[0] if words else "unknown"


def scheduling(calibration: Calibration, engine: str, gpu: Gpu) -> tuple[Scheduling, bool]:
    """The most exact entry for engine and generation, and whether exactly this pair was measured."""
    exact = f"{engine}/{generation(gpu)}"
    for key in (exact, f"{engine}/*", "*/*"):
        if key in calibration.scheduling:
            return calibration.scheduling[key], key == exact
    raise KeyError(exact)
