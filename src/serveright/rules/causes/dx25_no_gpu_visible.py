"""No GPU is visible to the process."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX25",
    title=msg("no GPU is visible to the process"),
    why=msg("the container was started without GPUs, or its runtime or driver is missing"),
    fix=(msg("Start the container with --gpus all (NVIDIA Container Toolkit), check CUDA_VISIBLE_DEVICES, and run nvidia-smi inside."),),
    effect="crash",
    speaks={
        "symptom:no_gpu_seen": 2.5,
        "log:no_gpu": 6,
        "log:libcuda": 5.5,
    },
)
