"""Diagnose: a log, a metrics page, the command, or words, to ranked causes with the lines that speak for them."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from serveright.api import asking
from serveright.api.diagnosing import Bundle, diagnose
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
        report = diagnosed(texts, visit)
    except UserError as error:
        return Shown(title=TITLE, template="diagnose.html", context={"form": form, "texts": texts}, error=error)
    document = diagnose_view.document(report)
    context = {"form": form, "texts": texts, "excerpts": excerpts(texts, report)}
    return Shown(title=document.title, template="diagnose.html", context=context, document=document, report=report)


def diagnosed(texts: Mapping[str, str], visit: Visit) -> DiagnoseReport:
    """The texts laid into a folder of their own for the readers, which is gone afterwards. Raises UserError."""
    gpu, model = visit.first("gpu"), visit.first("model")
    if model:
        asking.named_model(model)
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / re.sub(r"[^\w.-]", "_", name) for name in texts if name != "symptom"}
        for name, path in files.items():
            path.write_text(texts[name], encoding="utf-8")
        kinds = {name: kind_of(name, texts[name]) for name in files}
        report = diagnose(
            Bundle(
                logs=tuple(str(files[name]) for name, kind in kinds.items() if kind == "log"),
                metrics=tuple(str(files[name]) for name, kind in kinds.items() if kind == "metrics"),
                command=next((str(files[name]) for name, kind in kinds.items() if kind == "command"), None),
                symptoms=(texts["symptom"],) if "symptom" in texts else (),
                gpu=asking.gpu_spec(gpu) if gpu else None,
                model=model or None,
                local=False,
            )
        )
        return _without_folder(report, folder)


def kind_of(name: str, text: str) -> str:
    """What a dropped file is, by its content first."""
    if name == "command.sh" or re.search(r"\.(sh|ya?ml|service)$", name):
        return "command"
    if name == "metrics.txt" or re.search(r"^# TYPE \S+ (counter|gauge|histogram)", text, re.MULTILINE):
        return "metrics"
    return "log"


def _without_folder(report: DiagnoseReport, folder: str) -> DiagnoseReport:
    """The report with names instead of paths of the passing folder."""
    import msgspec

    raw = msgspec.json.encode(report).replace(f"{folder}/".encode(), b"")
    return msgspec.json.decode(raw, type=DiagnoseReport)


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
