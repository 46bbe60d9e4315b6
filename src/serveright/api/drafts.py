"""The draft model a command names beside its model: read where its config is at hand, and what a server keeps of it."""

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.weights import weight_need
from serveright.api.loading import Model, model_at_hand
from serveright.families.drafts import WHOLE, as_held
from serveright.types.engine import Settings, Sized
from serveright.types.model import ModelShape
from serveright.types.text import Msg, msg
from serveright.types.weights import WeightNeed

NAMES = ("speculative-model", "speculative-draft-model-path")
"""Where `Settings.extra` names the draft: vLLM's `model` of `--speculative-config`, SGLang's flag."""
_OWN = frozenset({"nextn", "eagle", "dspark"})
"""Methods that, without a draft named, use the checkpoint's own prediction layers (SGLang's words, and DeepSeek-V4's block)."""
_HEAD_SHARE, _WHOLE_SHARE = 0.05, 0.2
"""Most of the target's weights that a head or a whole draft model is taken to weigh where its config is not at hand: an assumption, which only widens ranges."""


class Draft(Struct, frozen=True, kw_only=True):
    """A draft model as its server holds it."""

    name: str
    shape: ModelShape
    need: WeightNeed


def drafter_name(model: Model, settings: Settings) -> str | None:
    """The draft model of its own that these settings name; None where nothing drafts or the checkpoint's own layers do."""
    if not settings.speculative_method or ("mtp" in settings.speculative_method.lower() and model.shape.mtp_layers):
        return None
    name = next((settings.extra[name] for name in NAMES if settings.extra.get(name)), None)
    return None if name in (model.files.id, model.files.origin) else name


def drafts_itself(model: Model, settings: Settings) -> bool:
    """The checkpoint's own prediction layers are loaded to draft."""
    method = (settings.speculative_method or "").lower()
    return ("mtp" in method or method in _OWN) and drafter_name(model, settings) is None


def draft_of(model: Model, settings: Settings, *, local: bool = True, fetch: bool = False) -> Draft | None:
    """The draft model of these settings where its config is at hand: a local path, the catalogue, and only if asked the Hub; None otherwise."""
    name = drafter_name(model, settings)
    found = model_at_hand(name, local=local, fetch=fetch) if name else None
    if name is None or found is None:
        return None
    shape = as_held(found.shape, found.files.config, settings.speculative_method or "", model.shape)
    return Draft(name=name, shape=shape, need=weight_need(shape, found.checkpoint))


def told(sized: Sized, model: Model, draft: Draft | None, weight_bytes: int) -> Sized:
    """The answer with what was counted for the draft, or a wider range where its config is not at hand."""
    name = drafter_name(model, sized.settings)
    if name is None:
        return sized
    if draft is not None:
        text = msg(
            "{draft} drafts: {weights:gib} of weights and {layers} cache layers of its own are counted",
            draft=name,
            weights=weight_bytes,
            layers=len(draft.shape.layers),
        )
        return _saying(sized, text)
    share = _WHOLE_SHARE if (sized.settings.speculative_method or "").lower() in WHOLE else _HEAD_SHARE
    most = round(sized.memory.weights_bytes * share)
    text = msg(
        "{draft} drafts, and its config is not at hand: its weights and cache are not counted, and the range leaves up to {most:gib} for them",
        draft=name,
        most=most,
    )
    if sized.memory.overhead_range is None:
        return _saying(sized, text)
    low, high = sized.memory.overhead_range
    return replace(_saying(sized, text), memory=replace(sized.memory, overhead_range=(low, high + most)))


def _saying(sized: Sized, text: Msg) -> Sized:
    return replace(sized, resolved=replace(sized.resolved, choices=(*sized.resolved.choices, text)))
