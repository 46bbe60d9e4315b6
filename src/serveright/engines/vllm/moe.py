"""Which kernel computes the routed experts: vLLM's first choice by number format, device and expert parallelism; None where no run of the engine says.

Follows `layers/fused_moe/oracle/`; a kernel may still hand odd shapes to another one while it runs.
"""

from serveright.engines.vllm.combinations import Device
from serveright.types.engine import Settings
from serveright.types.model import Checkpoint, ModelShape, NumberFormat
from serveright.types.vllm import VllmBehaviour

UNQUANTISED = "unquantised"


def expert_kernel(shape: ModelShape, checkpoint: Checkpoint, device: Device, behaviour: VllmBehaviour, settings: Settings) -> str | None:
    """The engine's word for the kernel, empty where it has none; None for dense models and where this format was never seen on this device."""
    if not any(f.kind == "moe" for layer in shape.layers for f in layer.ffns):
        return None
    if settings.moe_backend and settings.moe_backend != "auto":
        return settings.moe_backend
    kind = expert_format(checkpoint)
    if kind is None or device.vendor != "nvidia" or settings.all2all_backend:
        return None
    spread = settings.parallel.ep > 1
    width = max(f.intermediate for layer in shape.layers for f in layer.ffns if f.kind == "moe") // (1 if spread else settings.parallel.tp)
    for rule in behaviour.moe:
        if rule.format == kind and device.sm in rule.sms and rule.expert_parallel in (None, spread) and not width % rule.slice_multiple:
            return rule.kernel
    return None


def has_no_kernel(found: str | None) -> bool:
    """The engine refuses: no kernel reads these experts on this device."""
    return found == ""


def expert_format(checkpoint: Checkpoint) -> str | None:
    """The routed experts' number format in the table's words; None where a checkpoint mixes formats without naming the experts'."""
    if not checkpoint.rules:
        return UNQUANTISED
    named = [r.format for r in checkpoint.rules if r.target == "experts"]
    found = named[:1] or list({r.format for r in checkpoint.rules if r.format is not None})
    word = _word(found[0]) if len(found) == 1 and found[0] is not None else None
    return f"{word}_{checkpoint.method}" if word == "mxfp4" and checkpoint.method == "mxfp4" else word


def _word(number: NumberFormat) -> str:
    if number.name.startswith("fp8"):
        return "fp8_block" if number.block else "fp8_channel" if number.group == -1 else "fp8"
    if number.bits == 4 and number.name.startswith("int"):
        return "int4"
    return number.name
