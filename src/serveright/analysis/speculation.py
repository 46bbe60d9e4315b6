"""What drafting costs and brings in one step: tokens verified, tokens accepted, seconds of drafting."""

from msgspec import Struct

from serveright.analysis.layout import gemm_rate
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration
from serveright.types.engine import Parallel
from serveright.types.hardware import Gpu

DEFAULT_ACCEPTANCE = 0.7
"""Share of drafted tokens accepted, each given that the one before was, where calibration has no figure."""


class Speculation(Struct, frozen=True, kw_only=True):
    """`tokens` drafted per step by the model's own prediction layers (`mtp`) or a separate head; `acceptance` None takes the fitted one."""

    method: str = "mtp"
    tokens: int = 1
    acceptance: float | None = None


def accepted_tokens(tokens: int, acceptance: float) -> float:
    """Expected tokens a step yields: 1 + a + ... + a^k."""
    return sum(acceptance**place for place in range(tokens + 1))


def acceptance(spec: Speculation, calibration: Calibration) -> float:
    """The given rate, else the fitted one (lower along a chain of several), else `DEFAULT_ACCEPTANCE`."""
    if spec.acceptance is not None:
        return spec.acceptance
    if spec.tokens > 1 and "acceptance_chain" in calibration.speculation:
        return calibration.speculation["acceptance_chain"]
    return calibration.speculation.get("acceptance", DEFAULT_ACCEPTANCE)


def draft_s(work: ModelWork, gpu: Gpu, parallel: Parallel, spec: Speculation, calibration: Calibration, tokens: float) -> float:
    """Seconds of drafting per step for `tokens` sequences: the draft layers once per drafted token, read and multiplied, and their kernels.

    A model whose shape holds no prediction layers is charged one layer of its own.
    """
    hw = calibration.hardware
    layers = max(work.layers, 1)
    bundles = work.draft or work.bundles
    share = 1.0 if work.draft else 1 / layers
    read = sum(b.bytes for b in bundles) * share / parallel.tp / gpu.bandwidth_bytes_per_s / hw.dense_bandwidth
    multiply = sum(2 * b.elements / gemm_rate(gpu, b.activation_bits, calibration) for b in bundles) * share / parallel.tp / hw.dense_compute * tokens
    kernels = work.kernels
    floor = hw.kernel_s * (kernels.plain + kernels.latent + kernels.recurrent + kernels.expert) / layers
    return spec.tokens * (max(read, multiply) + floor + calibration.speculation.get("draft_step_s", 0.0))
