"""Diagnose: a log, a metrics page, the command, or words, to ranked causes with the lines that speak for them."""

from collections.abc import Mapping
from typing import Any

from serveright.api.texts import diagnose_texts
from serveright.errors import UserError
from serveright.outputs.views import diagnose as diagnose_view
from serveright.types.diagnosis import DiagnoseReport
from serveright.types.text import msg
from serveright.web.views.design import choices
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Diagnose"), 4
PASTES: Mapping[str, str] = {"log": "server.log", "metrics": "metrics.txt", "command": "command.sh", "symptom": "symptom"}
AROUND = 2
"""Lines of a log shown before and after one that speaks."""
SHOWN = 40


def show(visit: Visit) -> Shown | Moved:
    """The form, and the causes where something was given."""
    form: dict[str, Any] = {"gpu": visit.first("gpu"), "model": visit.first("model"), **choices()}
    texts: Mapping[str, str] = {}
    try:
        if visit.rest.startswith("~"):
            texts = visit.texts()
        elif visit.first("symptom"):
            texts = {"symptom": visit.first("symptom")}
        if not texts:
            return Shown(title=TITLE, template="diagnose.html", context={"form": form, "texts": {}})
        files = {name: text for name, text in texts.items() if name != "symptom"}
        report = diagnose_texts(files, symptom=texts.get("symptom", ""), gpu=visit.first("gpu"), model=visit.first("model"))
    except UserError as error:
        return Shown(title=TITLE, template="diagnose.html", context={"form": form, "texts": texts}, error=error)
    document = diagnose_view.document(report)
    context = {"form": form, "texts": texts, "excerpts": excerpts(texts, report)}
    return Shown(title=document.title, template="diagnose.html", context=context, document=document, report=report)


def excerpts(texts: Mapping[str, str], report: DiagnoseReport) -> list[dict[str, Any]]:
    """The lines that speak, in their surroundings, one list a text."""
    found: list[dict[str, Any]] = []
    for name, text in texts.items():
        speaks = {e.line: cause.code for cause in reversed(report.causes) for e in cause.evidence if e.source == name and e.line}
        if not speaks:
            continue
        lines = text.split("\n")
        near = sorted({n for line in speaks for n in range(line - AROUND, line + AROUND + 1) if 0 < n <= len(lines)})[: SHOWN * (2 * AROUND + 1)]
        found.append({"name": name, "rows": [{"number": n, "text": lines[n - 1][:2000], "code": speaks.get(n, "")} for n in near]})
    return found
