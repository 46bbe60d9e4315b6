"""Where one GPU's memory goes: `avail_after_load - avail_before_load x (1 - mem_fraction)`, less what images reserve: kv_cache_configurator.py.

What a rank has lost before loading and what loading takes beyond the weights is fitted (`facts/calibration/sglang_memory.toml`); both widen `overhead_range`.
"""

from serveright.engines.sglang.args import Args, Situation
from serveright.types.derivation import Derivation
from serveright.types.engine import MemorySplit
from serveright.types.hardware import Gpu
from serveright.types.sglang import SglangMemory
from serveright.types.text import msg

_MIB, _GIB = 2**20, 2**30
_SOURCE = "sglang mem_cache/kv_cache_configurator.py _profile_available_bytes"


def split_of(args: Args, at: Situation, gpu: Gpu, weights: int, memory: SglangMemory) -> MemorySplit:
    """`budget_bytes` is the share of the free memory before loading; the pool holds KV rows and states."""
    before_loss, load = memory.before[machine(gpu, args.tp * args.pp)], memory.load
    before = gpu.memory_bytes - int(before_loss.value)
    images = image_bytes(args, at)
    fraction = args.mem_fraction or 0.0
    pool = max(0, int(before - weights - load.value - before * (1 - fraction) - images))
    least, most = (
        int(load_bound + (bound - before_loss.value) * fraction) for load_bound, bound in ((load.low, before_loss.low), (load.high, before_loss.high))
    )
    overhead = int(load.value) + images
    return MemorySplit(
        device_bytes=gpu.memory_bytes,
        budget_bytes=int(before * fraction),
        weights_bytes=weights,
        overhead_bytes=overhead,
        kv_pool_bytes=pool,
        overhead_range=(least + images, most + images),
        overhead_parts={"loading": int(load.value), "images": images} if images else {"loading": int(load.value)},
        derivation=(_derive(before, weights, int(load.value), fraction, images, pool),),
    )


def machine(gpu: Gpu, gpus: int) -> str:
    """Kind of machine in the calibration: what is gone before loading (contexts, communicators, on unified memory the system) depends on it."""
    if gpu.vendor.upper() == "AMD":
        return "rocm"
    if gpu.interconnect.domain_gpus == 1 and gpu.gpus_per_node == 1:
        return "unified"
    return "cuda_many" if gpus > 1 else "cuda"


def image_bytes(args: Args, at: Situation) -> int:
    """Embedding cache and feature transport that multimodal servers keep back."""
    if not at.seen.multimodal or args.language_only:
        return 0
    constants = at.behaviour.constants
    transport = constants.vision_transport_mib if args.transport in ("cuda_ipc", "cuda_vmm") else 0
    return (constants.vision_cache_mib + transport) * _MIB


def _derive(before: int, weights: int, load: int, fraction: float, images: int, pool: int) -> Derivation:
    return Derivation(
        "kv_pool_bytes",
        "max(0, floor(before - weights - load - before * (1 - fraction) - images))",
        {"before": before, "weights": weights, "load": load, "fraction": fraction, "images": images},
        pool,
        "B",
        msg("free memory after loading, less the share of the memory before loading that stays for activations and graphs"),
        _SOURCE,
    )
