"""Which attention backend vLLM takes: its lists in order, the first whose limits admit the layer, or the engine's refusal.

Limits that a class declares come as data (`BackendRule`); those that join several facts are in `combinations`. Follows `platforms/cuda.py`
and `v1/attention/backend.py`; reasons are the engine's own words in its own order.
"""

from math import lcm

from msgspec import Struct

from serveright.engines.vllm import combinations as combine
from serveright.engines.vllm.combinations import Ask, Device
from serveright.engines.vllm.words import quantised
from serveright.types.vllm import BackendRule, Priority, VllmBehaviour


class Rejected(Struct, frozen=True):
    """One backend that was tried, and why it fell."""

    name: str
    reasons: tuple[str, ...]


class Choice(Struct, frozen=True):
    """The backend taken (None: the engine refuses) and those tried before it."""

    rule: BackendRule | None
    rejected: tuple[Rejected, ...]


def choose(ask: Ask, device: Device, behaviour: VllmBehaviour) -> Choice:
    """The first valid backend of the version's list for this device and layer."""
    rejected: list[Rejected] = []
    rules = {r.name: r for r in behaviour.backends}
    taken: BackendRule | None = None
    for name in _order(ask, device, behaviour):
        rule = rules.get(name)
        if rule is None:
            continue
        reasons = refusals(rule, ask, device)
        if not reasons:
            taken = taken or rule
        else:
            rejected.append(Rejected(name, reasons))
    return Choice(taken, tuple(rejected))


def _order(ask: Ask, device: Device, behaviour: VllmBehaviour) -> tuple[str, ...]:
    kind = "dense" if ask.kind == "dense" else "latent"
    for entry in behaviour.priorities:
        if entry.kind == kind and entry.vendor == device.vendor and _applies(entry, ask, device):
            return entry.order
    return ()


def _applies(entry: Priority, ask: Ask, device: Device) -> bool:
    return (
        (not entry.majors or device.major in entry.majors)
        and (entry.quantised is None or entry.quantised == quantised(ask.kv_dtype))
        and (not entry.max_heads or (ask.heads <= entry.max_heads and not quantised(ask.kv_dtype)))
        and (not entry.head_size or entry.head_size == ask.head_size)
        and (entry.mm_prefix is None or entry.mm_prefix == ask.mm_prefix)
        and (entry.aiter is None or entry.aiter == device.aiter)
    )


def refusals(rule: BackendRule, ask: Ask, device: Device) -> tuple[str, ...]:
    """Why the engine's check turns this backend down; empty when it takes it."""
    reasons = [
        (not combine.head_fits(rule, ask, device), "head_size not supported"),
        (ask.dtype not in rule.dtypes, "dtype not supported"),
        (not combine.kv_fits(rule, ask, device), "kv_cache_dtype not supported"),
        (ask.block > 0 and not takes_block(kernel_blocks(rule, ask, device), ask.block), "block_size not supported"),
        (ask.mm_prefix and not combine.mm_prefix_fits(rule, device), "partial multimodal token full attention not supported"),
        (ask.kind != "dense" and rule.kind == "dense", "MLA not supported"),
        (ask.kind == "dense" and rule.kind != "dense", "non-MLA not supported"),
        (ask.sinks and not combine.sinks_fit(rule, device), "attention sinks not supported"),
        (ask.kind == "sparse_latent" and rule.kind != "sparse_latent", "sparse not supported"),
        (ask.kind != "sparse_latent" and rule.kind == "sparse_latent", "non-sparse not supported"),
        (not _capable(rule, device), "compute capability not supported"),
        (ask.sliding and not rule.sliding, "sliding window not supported"),
        (ask.dcp and not rule.dcp, "DCP not supported"),
    ]
    found = [text for holds, text in reasons if holds]
    joint = combine.reason(rule.name, ask, device)
    return (*found, joint) if joint else tuple(found)


def _capable(rule: BackendRule, device: Device) -> bool:
    return device.vendor in rule.vendors and (not rule.majors or device.major in rule.majors) and rule.min_sm <= device.sm <= rule.max_sm


class Blocks(Struct, frozen=True):
    """Kernel block sizes: exact ones, or any multiple of `multiple`."""

    exact: tuple[int, ...] = ()
    multiple: int = 0

    @property
    def smallest(self) -> int:
        """The least block a kernel takes."""
        return min(self.sizes) if self.sizes else 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bases of every declared size."""
        return (*self.exact, *([self.multiple] if self.multiple else []))


def kernel_blocks(rule: BackendRule, ask: Ask, device: Device) -> Blocks:
    """The kernel block sizes the backend advertises for this layer."""
    return Blocks(*combine.special_blocks(rule, ask, device))


def takes_block(blocks: Blocks, block: int) -> bool:
    """A manager block is acceptable when some kernel block divides it."""
    return any(block % size == 0 for size in blocks.sizes) if blocks.sizes else True


def preferred_block(all_blocks: list[Blocks], default: int, special: int = 0) -> int:
    """The block every backend accepts: the default where it can be, else the smallest common one. Raises ValueError with the engine's words."""
    if len(all_blocks) == 1:
        only = all_blocks[0]
        if special:
            return max(default, special)
        return default if takes_block(only, default) else only.smallest
    if all(takes_block(b, default) for b in all_blocks):
        return default
    candidates: set[int] = {1}
    for blocks in all_blocks:
        candidates = {lcm(c, s) for c in candidates for s in (blocks.sizes or (1,))}
    for candidate in sorted(candidates):
        if all(takes_block(b, candidate) for b in all_blocks):
            return candidate
    raise ValueError("The attention backends share no supported KV cache block size")


def largest_block_within(blocks: Blocks, row_bytes: int, budget: int, fallback: int) -> int:
    """The largest kernel block whose page fits `budget` bytes; the smallest kernel block where none fits."""
    limit = budget // row_bytes
    candidates = [*blocks.exact, *([max(blocks.multiple, limit // blocks.multiple * blocks.multiple)] if blocks.multiple else [])]
    if not candidates:
        return fallback
    fitting = [c for c in candidates if c * row_bytes <= budget]
    return max(fitting) if fitting else min(candidates)
