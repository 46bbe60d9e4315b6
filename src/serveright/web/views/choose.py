"""Choose: the catalogue through the steps, how many fell at each, and what came through."""

from typing import Any

from serveright import api
from serveright.api import asking
from serveright.errors import UserError
from serveright.outputs.views import choose as choose_view
from serveright.types.text import msg
from serveright.web.views.design import FIELDS, choices, number, usual
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Choose"), 2
PASTES: dict[str, str] = {}


def show(visit: Visit) -> Shown | Moved:
    """The form, and with GPUs the funnel and the ranking."""
    form: dict[str, Any] = {
        "values": {key: visit.first(key) for key in (*FIELDS, "engine", "gpu", "need", "nodes", "lang")},
        "usual": usual(visit.first("traffic")),
        **choices(),
    }
    if not visit.first("gpu"):
        return Shown(title=TITLE, template="choose.html", context={"form": form})
    try:
        report = api.choose(
            asking.gpu_spec(visit.first("gpu")),
            asking.traffic_of_texts({field: visit.first(key) for key, field in FIELDS.items()}),
            nodes=number(visit.first("nodes")),
            engine=visit.first("engine") or "both",
            needs=[visit.first("need")],
        )
    except UserError as error:
        return Shown(title=TITLE, template="choose.html", context={"form": form}, error=error)
    document = choose_view.document(report)
    total = report.funnel.get("asked", 0)
    funnel = [(choose_view.STEP_NAMES[step], count, total) for step, count in report.funnel.items()]
    return Shown(title=document.title, template="choose.html", context={"form": form, "funnel": funnel}, document=document, report=report)
