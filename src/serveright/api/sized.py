"""One engine asked about one model on given GPUs: the call that every step stands on."""

from math import ceil

from serveright.analysis.weights import per_gpu_bytes
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.types.engine import Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.model import Part


def size_on(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Sized:
    """One engine's answer; weights per GPU are those of the fullest pipeline stage, experts as wide as their kernel stores them."""
    parts = weights_on(model, settings)
    growth = engine.module().expert_growth(model.shape, model.checkpoint, fleet.gpu, engine.behaviour, settings) if engine.name == "vllm" else 1
    weights = sum(parts.values()) + ceil(parts.get("experts", 0) * (growth - 1))
    return engine.module().size(model.shape, model.checkpoint, weights, fleet.gpu, engine.behaviour, engine.memory, settings, context_tokens)


def weights_held(model: Model, sized: Sized) -> dict[Part, int]:
    """Bytes by part as that answer counted them: what experts were widened by is theirs."""
    parts = weights_on(model, sized.settings)
    wider = sized.memory.weights_bytes - sum(parts.values())
    if wider > 0 and "experts" in parts:
        parts["experts"] += wider
    return parts


def weights_on(model: Model, settings: Settings) -> dict[Part, int]:
    """Bytes by part on the fullest GPU."""
    return per_gpu_bytes(model.need, settings.parallel, with_mtp=settings.speculative_method == "mtp", language_only=settings.language_only)
