"""Messages between GPUs: which link a group of GPUs talks over, and what one message costs there."""

from msgspec import Struct

from serveright.types.calibration import Calibration
from serveright.types.hardware import Gpu

DEFAULT_NETWORK = 50e9
"""Bytes/s of one GPU's network card where the facts are silent (400 Gb/s InfiniBand)."""
DEFAULT_PCIE = 25e9


class Link(Struct, frozen=True, kw_only=True):
    """`kind` is a key of `Calibration.collective_s`."""

    kind: str
    latency_s: float
    bytes_per_s: float


def link(gpu: Gpu, gpus: int, calibration: Calibration) -> Link:
    """The slowest link inside a group of `gpus`: scale-up links within the domain, the network beyond it, PCIe where there is nothing else."""
    wires = gpu.interconnect
    if gpus > max(wires.domain_gpus, 1) and gpus > gpu.gpus_per_node:
        kind, speed = "network", wires.network_bytes_per_s or DEFAULT_NETWORK
    elif wires.bus_bytes_per_s and gpus <= max(wires.domain_gpus, gpu.gpus_per_node):
        kind, speed = ("nvlink" if "nv" in wires.kind.lower() else "xgmi"), wires.bus_bytes_per_s
    else:
        kind, speed = "pcie", wires.pcie_bytes_per_s or DEFAULT_PCIE
    hops = max(gpus - 1, 1).bit_length()
    return Link(kind=kind, latency_s=calibration.collective_s[kind] * (0.9 + 0.1 * hops), bytes_per_s=speed)
