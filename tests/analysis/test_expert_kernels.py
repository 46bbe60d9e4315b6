"""Which measured kernel stands for a model's experts: by format, GPU and engine, with fallbacks from the most exact to the most general."""

import pytest
from msgspec import structs

from serveright.analysis.expert_kernels import arithmetic, form, kernel
from serveright.analysis.layout import split
from serveright.analysis.roofline import decode_parts, expert_floor
from serveright.analysis.work import Experts
from serveright.types.calibration import ExpertKernel
from serveright.types.engine import Parallel
from tests.analysis.performance import CALIBRATION, HARDWARE, gpu, latent, work

FP4_GPU = structs.replace(gpu(), architecture="Blackwell Ultra", flops={"bf16": 2e15, "fp8": 4e15, "fp4": 9e15})
AMPERE = structs.replace(gpu(), architecture="Ampere", flops={"bf16": 3e14, "int8": 6e14})


def block(bits: float, activation_bits: int, *, floating: bool = True) -> Experts:
    return Experts(
        layers=10, experts=64, per_token=4, bits=bits, floating=floating, activation_bits=activation_bits, elements=10**9, bytes=10**9 * bits / 8
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bits", "activation_bits", "floating", "on_hopper", "on_blackwell"),
    [
        (16, 16, True, "bf16", "bf16"),
        (8, 8, True, "fp8", "fp8"),
        (4, 4, True, "nvfp4-unpacked", "nvfp4"),
        (4, 16, True, "mxfp4-unpacked", "mxfp4"),
        (4, 16, False, "int4", "int4"),
    ],
)
def test_form(bits: float, activation_bits: int, floating: bool, on_hopper: str, on_blackwell: str) -> None:
    experts = block(bits, activation_bits, floating=floating)
    assert (form(gpu(), experts), form(FP4_GPU, experts)) == (on_hopper, on_blackwell)


def test_arithmetic_is_the_next_wider_one_the_gpu_has() -> None:
    assert [arithmetic(FP4_GPU, bits) for bits in (4, 8, 16)] == ["fp4", "fp8", "bf16"]
    assert [arithmetic(gpu(), bits) for bits in (4, 8, 16)] == ["fp8", "fp8", "bf16"]
    assert [arithmetic(AMPERE, bits) for bits in (4, 8, 16)] == ["int8", "int8", "bf16"]


def test_the_most_exact_entry_wins() -> None:
    experts = block(4, 16)
    keys = ("*/*/mxfp4", "sglang/*/mxfp4", "*/blackwell/mxfp4", "sglang/blackwell/mxfp4")
    known: dict[str, ExpertKernel] = {}
    for place, key in enumerate(keys):
        known[key] = ExpertKernel(floor_s=float(place), bandwidth=0.5, compute=0.2, bits=8)
        assert kernel(structs.replace(CALIBRATION, expert_kernels=known), "sglang", FP4_GPU, experts).floor_s == place
    whole = structs.replace(CALIBRATION, expert_kernels=known)
    assert kernel(whole, "vllm", FP4_GPU, experts).floor_s == 2
    assert kernel(whole, "vllm", structs.replace(FP4_GPU, architecture="Rubin"), experts).floor_s == 0


def test_a_floor_is_paid_by_every_layer_and_by_no_layout_less() -> None:
    counted = work(latent())
    steps = [decode_parts(split(counted, gpu(), Parallel(tp=tp, ep=tp), CALIBRATION, 1.0), HARDWARE, 1, 1000) for tp in (1, 8)]
    assert steps[0]["kernels"] == pytest.approx(steps[1]["kernels"])
    floor = expert_floor(split(counted, gpu(), Parallel(tp=8), CALIBRATION, 1.0), HARDWARE)
    assert floor == pytest.approx(58 * 3e-5 * HARDWARE.expert_floor)
    without = structs.replace(HARDWARE, expert_floor=0.0)
    bare = decode_parts(split(counted, gpu(), Parallel(tp=8), CALIBRATION, 1.0), without, 1, 1000)
    assert steps[1]["kernels"] - bare["kernels"] == pytest.approx(floor)
