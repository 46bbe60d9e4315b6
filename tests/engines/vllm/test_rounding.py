"""MXFP4 experts as their kernel stores them, against what public start-up logs print for the loaded model."""

from fractions import Fraction

import pytest

from serveright.analysis.weights import per_gpu_bytes, weight_need
from serveright.catalog.gpus import load_gpu
from serveright.catalog.models import load
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm import expert_growth
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings

GIB = 2**30


@pytest.mark.parametrize(("model", "gpu", "logged"), [("openai/gpt-oss-20b", "h100-sxm", 13.47), ("openai/gpt-oss-120b", "h100-sxm", 64.38)])
def test_what_logs_print_for_loaded_weights(model: str, gpu: str, logged: float) -> None:
    shape, checkpoint = read_model(load(model)), read_checkpoint(load(model))
    parts = per_gpu_bytes(weight_need(shape, checkpoint), Parallel())
    growth = expert_growth(shape, checkpoint, load_gpu(gpu), load_vllm_behaviour("0.33.0"), Settings())
    held = sum(parts.values()) + parts["experts"] * (growth - 1)
    assert abs(float(held) / GIB / logged - 1) < 0.004
    assert abs(sum(parts.values()) / GIB / logged - 1) > 0.04


def test_the_wider_tile_of_another_kernel() -> None:
    shape, checkpoint = read_model(load("openai/gpt-oss-120b")), read_checkpoint(load("openai/gpt-oss-120b"))
    marlin = expert_growth(shape, checkpoint, load_gpu("a100-80gb-sxm"), load_vllm_behaviour("0.33.0"), Settings())
    assert marlin == Fraction(2944, 2880) * Fraction(3072, 2880)


@pytest.mark.parametrize("model", ["Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-32B", "zai-org/GLM-5.1-FP8"])
def test_other_formats_stay_as_published(model: str) -> None:
    shape, checkpoint = read_model(load(model)), read_checkpoint(load(model))
    assert expert_growth(shape, checkpoint, load_gpu("h100-sxm"), load_vllm_behaviour("0.33.0"), Settings()) == 1


def test_slices_of_experts_are_rounded_each() -> None:
    shape, checkpoint, gpu = read_model(load("moonshotai/Kimi-K3")), read_checkpoint(load("moonshotai/Kimi-K3")), load_gpu("h200-sxm")
    growth = [expert_growth(shape, checkpoint, gpu, load_vllm_behaviour("0.33.0"), Settings(parallel=Parallel(tp=tp))) for tp in (8, 16)]
    assert growth == [1, Fraction(4, 3)]
