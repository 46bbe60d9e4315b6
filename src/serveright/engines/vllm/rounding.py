"""How much wider routed experts become when a kernel stores them: MXFP4 sides rounded up to what its tiles want (layers/fused_moe/oracle/mxfp4.py)."""

from fractions import Fraction

from serveright.engines.vllm.combinations import Device
from serveright.engines.vllm.moe import expert_format, expert_kernel
from serveright.types.engine import Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, Ffn, ModelShape
from serveright.types.vllm import VllmBehaviour


def expert_growth(shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: VllmBehaviour, settings: Settings) -> Fraction:
    """Stored over published bytes of the routed experts on one GPU; 1 where the kernel is not known or takes them as they are."""
    if not (expert_format(checkpoint) or "").startswith("mxfp4"):
        return Fraction(1)
    device = Device(sm=gpu.sm or 0, name=gpu.name, vendor=gpu.vendor.lower())
    kernel = expert_kernel(shape, checkpoint, device, behaviour, settings) or ""
    wanted = next((sides for name, sides in behaviour.expert_tiles.items() if kernel.startswith(name)), None)
    experts = [ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"]
    if wanted is None or not experts:
        return Fraction(1)
    inner, outer = wanted
    ranks = 1 if settings.parallel.ep > 1 else settings.parallel.tp * settings.parallel.dp
    return max(_growth(ffn, shape.hidden, ranks, inner, outer) for ffn in experts)


def _growth(ffn: Ffn, hidden: int, ranks: int, inner: int, outer: int) -> Fraction:
    width, depth = Fraction(ffn.intermediate, ranks), ffn.latent_dim or hidden
    return Fraction(-(-width // inner) * inner) / width * Fraction(-(-depth // outer) * outer, depth)
