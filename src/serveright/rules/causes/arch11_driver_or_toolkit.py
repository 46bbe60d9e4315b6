"""Driver, CUDA toolkit or kernel packages do not match."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH11",
    title=msg("driver, CUDA toolkit or kernel packages do not match"),
    why=msg("code for this GPU cannot be built or loaded; the message may blame the GPU instead"),
    fix=(msg("Upgrade the driver (or use a wheel for an older CUDA), install CUDA 12.9 or newer for sm_12x, and keep FlashInfer packages at one version."),),
    effect="crash",
    speaks={
        "log:ptx_toolchain": 6,
        "log:driver_old": 6,
        "log:flashinfer_sm75": 6,
        "log:flashinfer_versions": 5,
        "log:no_kernel_image": 2.5,
        "log:libcuda": 5,
        "symptom:first_kernel": 1,
    },
    next_check=msg("Compare `nvidia-smi` (driver) with torch.version.cuda."),
)
