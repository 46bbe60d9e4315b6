"""Where one GPU's memory goes: budget, weights, what the profile run takes, and what is left for the cache.

Follows `v1/worker/gpu_worker.py` determine_available_memory; the overhead comes from calibration data, with its spread.
"""

from math import ceil

from serveright.engines.vllm.plan import Plan
from serveright.engines.vllm.profile import Load, count, price
from serveright.types.derivation import Derivation
from serveright.types.engine import MemorySplit, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import ModelShape
from serveright.types.text import msg
from serveright.types.vllm import VllmMemory
from serveright.versions import released

UNIFIED_SM = (110, 121)
"""Devices that share memory with the host: Jetson Thor and GB10."""


def split(shape: ModelShape, plan: Plan, weight_bytes_per_gpu: int, gpu: Gpu, calibration: VllmMemory, settings: Settings) -> MemorySplit:
    """The split in bytes. `--kv-cache-memory-bytes` in `Settings.extra` takes the cache's size as given, as the engine does."""
    fraction = settings.mem_fraction or plan.site.behaviour.mem_fraction
    budget = ceil(gpu.memory_bytes * fraction)
    parts = {name: round(size * calibration.scale) for name, size in price(load_of(shape, plan, gpu, settings), calibration).items()}
    overhead = sum(parts.values())
    given = settings.extra.get("kv-cache-memory-bytes")
    pool = int(given) if given else max(0, budget - weight_bytes_per_gpu - overhead)
    low, high = (round(overhead * share) for share in calibration.spread[build(plan.site.behaviour.asked_version)])
    return MemorySplit(
        device_bytes=gpu.memory_bytes,
        budget_bytes=budget,
        weights_bytes=weight_bytes_per_gpu,
        overhead_bytes=overhead,
        kv_pool_bytes=pool,
        overhead_range=None if given else (low, min(high, max(overhead, budget))),
        overhead_parts=parts,
        derivation=tuple(_derive(gpu, fraction, budget, weight_bytes_per_gpu, overhead, pool, calibration) if not given else ()),
    )


def load_of(shape: ModelShape, plan: Plan, gpu: Gpu, settings: Settings) -> Load:
    """What this start-up handles on that device."""
    return count(shape, plan, gpu, settings, device_class(gpu), reach(gpu, settings) if settings.parallel.gpus > 1 else None)


def device_class(gpu: Gpu) -> str:
    """unified with the host's memory, rocm, or discrete: what runtime and libraries keep differs."""
    if gpu.sm in UNIFIED_SM:
        return "unified"
    return "rocm" if gpu.vendor.lower() == "amd" else "discrete"


def reach(gpu: Gpu, settings: Settings) -> str:
    """How the ranks of a deployment reach one another: over nodes, over links within a node, or over its PCIe."""
    if settings.parallel.gpus > gpu.gpus_per_node:
        return "nodes"
    return "pcie" if gpu.interconnect.bus_bytes_per_s is None else "node"


def build(version: str) -> str:
    """released, or built: between releases or by others, whose own changes nobody can look up."""
    return "released" if released(version) else "built"


def _derive(gpu: Gpu, fraction: float, budget: int, weights: int, overhead: int, pool: int, calibration: VllmMemory) -> list[Derivation]:
    return [
        Derivation(
            name="budget_bytes",
            formula="ceil(device_bytes * mem_fraction)",
            values={"device_bytes": gpu.memory_bytes, "mem_fraction": fraction},
            result=budget,
            unit="B",
            reason=msg("the share of the whole device that vLLM may use"),
            source="vLLM v1/worker/utils.py request_memory",
        ),
        Derivation(
            name="kv_pool_bytes",
            formula="max(0, budget_bytes - weights_bytes - overhead_bytes)",
            values={"budget_bytes": budget, "weights_bytes": weights, "overhead_bytes": overhead},
            result=pool,
            unit="B",
            reason=msg("what weights and the profile run leave; the overhead is fitted on {rows} start-ups", rows=calibration.rows),
            source=calibration.source,
        ),
    ]
