"""Accelerators as facts. Figures are SI: bytes, bytes/s, FLOP/s, watts."""

from msgspec import Struct

from serveright.types.fact import Source


class Interconnect(Struct, frozen=True, kw_only=True):
    """How GPUs of one node talk. `bus_bytes_per_s` is one direction of one GPU's links; None where there is only PCIe."""

    kind: str
    bus_bytes_per_s: float | None = None
    pcie_bytes_per_s: float | None = None
    network_bytes_per_s: float | None = None
    domain_gpus: int = 8
    """GPUs reachable at scale-up speed (8 in an HGX node, 72 in NVL72, 1 with PCIe only)."""


class Gpu(Struct, frozen=True, kw_only=True):
    """One accelerator.

    `memory_bytes` is what the driver reports as total (never the marketing figure); `capability` is (9, 0) for sm_90, None off CUDA.
    `flops` maps a number format (bf16, fp16, fp8, int8, fp4) to dense FLOP/s; absent means the hardware has no such path.
    """

    key: str
    name: str
    vendor: str
    architecture: str
    capability: tuple[int, int] | None
    memory_bytes: int
    memory_marketing_bytes: int
    bandwidth_bytes_per_s: float
    flops: dict[str, float]
    interconnect: Interconnect
    gpus_per_node: int
    tdp_w: float | None = None
    price_usd_per_hour: float | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: dict[str, Source] = {}
    """Origin by field name."""

    @property
    def sm(self) -> int | None:
        """90 for (9, 0), 120 for (12, 0); None off CUDA."""
        return None if self.capability is None else self.capability[0] * 10 + self.capability[1]


class Fleet(Struct, frozen=True, kw_only=True):
    """The GPUs at hand: `count` in all over `nodes` equal nodes."""

    gpu: Gpu
    count: int
    nodes: int = 1

    @property
    def per_node(self) -> int:
        """GPUs of one node."""
        return self.count // self.nodes
