"""Kernels are to be built at the start, and the build tools are missing or fail."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX18",
    title=msg("kernels are to be built at the start, and the build tools are missing or fail"),
    why=msg("FlashInfer, Triton and torch.compile call nvcc, ninja or a C compiler on the serving machine"),
    fix=(
        msg(
            "Install a C compiler with the Python headers and the CUDA toolkit of torch's version (CUDA_HOME, nvcc on PATH), or use the engine's image; FlashInfer's prebuilt kernel packages (flashinfer-cubin, flashinfer-jit-cache) avoid the build."
        ),
    ),
    effect="crash",
    speaks={
        "symptom:no_toolkit": 3.2,
        "log:toolchain": 6,
        "log:build_failed": 3.5,
    },
    next_check=msg("Run `nvcc --version` and `gcc --version` in the same container and user."),
)
