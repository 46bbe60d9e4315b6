"""Which measured kernel multiplies a model's experts: by engine, GPU generation and weight format, with what stands for a combination nobody measured."""

from serveright.analysis.generation import generation
from serveright.analysis.work import Experts
from serveright.types.calibration import Calibration, ExpertKernel
from serveright.types.hardware import Gpu

ARITHMETIC: tuple[tuple[int, tuple[str, ...]], ...] = ((4, ("fp4",)), (8, ("fp8", "int8")), (16, ("bf16", "fp16")))


def arithmetic(gpu: Gpu, bits: int) -> str:
    """Key of `Gpu.flops` for activations of this width: the next wider one where the GPU has none, its fastest where it has no wider one either."""
    for width, names in ARITHMETIC:
        for name in names:
            if bits <= width and gpu.flops.get(name):
                return name
    return max(gpu.flops, key=gpu.flops.__getitem__)


def form(gpu: Gpu, block: Experts) -> str:
    """Weight format as kernels tell them apart: bf16, fp8, int4, mxfp4 (16-bit activations), nvfp4; FP4 without FP4 arithmetic is unpacked on the way."""
    if block.bits >= 12:
        return "bf16"
    if block.bits >= 6:
        return "fp8"
    if not block.floating:
        return "int4"
    name = "nvfp4" if block.activation_bits < 8 else "mxfp4"
    return name if gpu.flops.get("fp4") else f"{name}-unpacked"


def kernel(calibration: Calibration, engine: str, gpu: Gpu, block: Experts) -> ExpertKernel:
    """The most exact entry: this engine on this generation, any engine on it, this engine on anything, anything."""
    name, own = form(gpu, block), generation(gpu)
    for key in (f"{engine}/{own}/{name}", f"*/{own}/{name}", f"{engine}/*/{name}", f"*/*/{name}"):
        if key in calibration.expert_kernels:
            return calibration.expert_kernels[key]
    raise KeyError(name)
