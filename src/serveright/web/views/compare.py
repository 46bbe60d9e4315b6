"""Compare: models (or GPUs, or engines) side by side under one traffic, and their caches against length."""

from typing import Any

from serveright import api
from serveright.api import asking
from serveright.errors import UserError
from serveright.outputs.views import compare as compare_view
from serveright.types.text import msg
from serveright.web.views.design import FIELDS, choices, usual
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Compare"), 1
PASTES: dict[str, str] = {}
MOST = 6


def show(visit: Visit) -> Shown | Moved:
    """The form, and with models and GPUs the table."""
    models, gpus = visit.all("model")[:MOST], visit.first("gpu").replace(",", " ").split()[:MOST]
    form: dict[str, Any] = {
        "models_asked": models,
        "gpu": " ".join(gpus),
        "values": {key: visit.first(key) for key in (*FIELDS, "engine", "lang")},
        "usual": usual(visit.first("traffic")),
        **choices(),
    }
    if not models or not gpus:
        return Shown(title=TITLE, template="compare.html", context={"form": form})
    try:
        files = [asking.named_model(name, allow_hub=visit.allow_hub) for name in models]
        traffic = asking.traffic_of_texts({field: visit.first(key) for key, field in FIELDS.items()})
        report = api.compare(files, [asking.gpu_spec(gpu) for gpu in gpus], traffic, engines=(visit.first("engine") or "both",), curves=True)
    except UserError as error:
        return Shown(title=TITLE, template="compare.html", context={"form": form}, error=error)
    document = compare_view.document(report)
    return Shown(title=document.title, template="compare.html", context={"form": form}, document=document, report=report)
