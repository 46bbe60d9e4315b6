"""What a fit reads besides the points: model shapes and GPUs from the catalogue, number formats by the points' own word for precision."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from serveright.analysis.work import ModelWork, model_work
from serveright.catalog import models
from serveright.catalog.gpus import gpu_keys, load_gpu
from serveright.families.read import read_model
from serveright.types.hardware import Gpu
from serveright.types.model import NumberFormat, Weight
from tools.fit.rows import Point

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
CATALOGUE = {"meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.1-8B": "meta-llama/Meta-Llama-3.1-8B"}
"""Names of the collection that the catalogue spells differently."""
BF16 = NumberFormat(name="bf16", bits=16)
FP8 = NumberFormat(name="fp8", bits=8, activation_bits=8)
FP8_BLOCKS = NumberFormat(name="fp8", bits=8, block=(128, 128), scale_bits=32, activation_bits=8)
FP4 = NumberFormat(name="nvfp4", bits=4, group=16, scale_bits=8, activation_bits=4)
MXFP4 = NumberFormat(name="mxfp4", bits=4, group=32, scale_bits=8, activation_bits=16)
SIXTEEN_BIT_PARTS = {"head", "embed", "router", "norm", "vision"}


def format_for(precision: str, *, experts: bool, mxfp4: bool) -> Callable[[Weight], NumberFormat]:
    """Formats of the checkpoints these points were run with: FP4 copies of MoE models keep attention in 16 bit, FP8 ones have 128 x 128 blocks."""

    def form(weight: Weight) -> NumberFormat:
        if precision == "bf16" or weight.part in SIXTEEN_BIT_PARTS:
            return BF16
        if mxfp4:
            return MXFP4 if weight.part == "experts" else BF16
        if precision == "fp8":
            return FP8_BLOCKS if experts else FP8
        return BF16 if experts and weight.part in ("attention", "recurrent") else FP4

    return form


def load_gpus() -> dict[str, Gpu]:
    """All GPUs of the catalogue by key."""
    return {key: load_gpu(key) for key in gpu_keys()}


@cache
def _work(model: str, precision: str) -> ModelWork:
    shape = read_model(models.load(CATALOGUE.get(model, model)))
    experts = any(weight.part == "experts" for weight in shape.weights)
    return model_work(shape, format_for(precision, experts=experts, mxfp4=shape.model_type == "gpt_oss"))


def work_of(point: Point) -> ModelWork:
    """Work of a point's model in its precision, counted once."""
    return _work(point.model, point.precision)
