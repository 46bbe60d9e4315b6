"""The same model in other number formats: checkpoints of the catalogue that this GPU computes in their own format."""

from collections.abc import Iterable

from serveright.api.loading import Model, load_model
from serveright.catalog.models import list_models, load
from serveright.types.facts_reports import Listed
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, NumberFormat


def siblings(model: Model, gpu: Gpu) -> tuple[Model, ...]:
    """Other checkpoints of `model` whose configs are in the catalogue, whose layers are the same, and whose format is native to `gpu`."""
    listed = list_models()
    base = _base(model.files.id, listed) or next((m for m in listed if m.id == model.files.id), None)
    if base is None:
        return ()
    wanted = {base.id, *(name for name in base.checkpoints if _base(name, listed) == base)}
    ids = sorted(m.id for m in listed if m.id != model.files.id and any(m.id.lower() == name.lower() for name in wanted))
    return tuple(other for other in (load_model(load(name)) for name in ids) if other.shape.layers == model.shape.layers and native(other.checkpoint, gpu))


def released_format(model: Model) -> str:
    """The number format of the release that this checkpoint was made from, its own where it is no copy of another."""
    base = _base(model.files.id, list_models())
    return load_model(load(base.id)).checkpoint.format if base is not None else model.checkpoint.format


def _base(checkpoint: str, listed: Iterable[Listed]) -> Listed | None:
    """The model that lists `checkpoint`; among several the one whose name it carries furthest (lists of a family repeat each other)."""
    name = checkpoint.split("/")[-1].lower()
    owners = [m for m in listed if checkpoint.lower() in (c.lower() for c in m.checkpoints)]
    carried = [m for m in owners if name.startswith(m.id.split("/")[-1].lower())]
    return max(carried, key=lambda m: len(m.id), default=None)


def native(checkpoint: Checkpoint, gpu: Gpu) -> bool:
    """Every format of the checkpoint is one the GPU multiplies in; weight-only ones are unpacked first and gain nothing but memory."""
    return all(_native(rule.format, gpu) for rule in checkpoint.rules if rule.format is not None)


def _native(form: NumberFormat, gpu: Gpu) -> bool:
    if form.bits >= 16:
        return True
    if form.bits < 8:
        return bool(gpu.flops.get("fp4")) and "fp" in form.name
    return form.activation_bits <= 8 and bool(gpu.flops.get("fp8") if "fp" in form.name else gpu.flops.get("int8"))
