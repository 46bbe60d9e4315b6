"""One engine asked about one model on given GPUs: the call that every step stands on."""

from math import ceil

from msgspec.structs import replace

from serveright.analysis.weights import per_gpu_bytes
from serveright.api.drafts import Draft, draft_of, drafts_itself, told
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.types.engine import Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.model import Part


def size_on(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int, *, local: bool = True, fetch: bool = False) -> Sized:
    """One engine's answer; weights per GPU are those of the fullest pipeline stage, experts as wide as their kernel stores them, a draft model beside them.

    `local` and `fetch`: whether a draft that the settings name may be read from a path or from the Hub.
    """
    draft = draft_of(model, settings, local=local, fetch=fetch)
    parts = weights_on(model, settings)
    growth = engine.module().expert_growth(model.shape, model.checkpoint, fleet.gpu, engine.behaviour, settings) if engine.name == "vllm" else 1
    beside = draft_bytes(draft, settings)
    weights = sum(parts.values()) + ceil(parts.get("experts", 0) * (growth - 1)) + beside
    shape = draft.shape if draft else None
    found: Sized = engine.module().size(model.shape, model.checkpoint, weights, fleet.gpu, engine.behaviour, engine.memory, settings, context_tokens, shape)
    return told(found, model, draft, beside)


def draft_bytes(draft: Draft | None, settings: Settings) -> int:
    """Weights of a draft model on one GPU: cut over the ranks of one stage, which all hold it (a later stage's spare is not counted)."""
    if draft is None:
        return 0
    return sum(per_gpu_bytes(draft.need, replace(settings.parallel, pp=1), language_only=True).values())


def weights_held(model: Model, sized: Sized) -> dict[Part, int]:
    """Bytes by part as that answer counted them: what experts were widened by is theirs, a draft model stands apart."""
    parts = weights_on(model, sized.settings)
    beside = draft_bytes(draft_of(model, sized.settings), sized.settings)
    if beside:
        parts["draft"] = beside
    wider = sized.memory.weights_bytes - sum(parts.values())
    if wider > 0 and "experts" in parts:
        parts["experts"] += wider
    return parts


def weights_on(model: Model, settings: Settings) -> dict[Part, int]:
    """Bytes by part on the fullest GPU. Both engines load a float32 checkpoint in 16 bits unless --dtype says otherwise."""
    return per_gpu_bytes(
        model.need,
        settings.parallel,
        with_mtp=drafts_itself(model, settings),
        language_only=settings.language_only,
        narrowed=settings.extra.get("dtype") not in ("float32", "float"),
    )
