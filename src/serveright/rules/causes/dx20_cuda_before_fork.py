"""CUDA was initialised before the workers were forked."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX20",
    title=msg("CUDA was initialised before the workers were forked"),
    why=msg("a forked process cannot take over a CUDA context; something in the parent touched the GPU first"),
    fix=(msg('Set VLLM_WORKER_MULTIPROC_METHOD=spawn and start under `if __name__ == "__main__":`, or touch no CUDA before the engine.'),),
    effect="crash",
    speaks={
        "log:forked_cuda": 6.5,
    },
)
