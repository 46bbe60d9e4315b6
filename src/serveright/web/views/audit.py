"""Audit: findings at the flag they are about, the repaired text, and the difference."""

from collections.abc import Mapping
from typing import Any

from serveright.api.texts import audit_texts, wishes
from serveright.errors import UserError
from serveright.outputs.views import audit as audit_view
from serveright.types.audit_reports import AuditReport
from serveright.types.report import Finding
from serveright.types.text import msg
from serveright.web.views.design import choices
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Audit"), 3
PASTES: Mapping[str, str] = {"text": "command"}
EXAMPLE = "vllm serve deepseek-ai/DeepSeek-V3.2 --tensor-parallel-size 8 --kv-cache-dtype fp8_e5m2 --max-num-seqs 2048 --enable-chunked-prefil"


def show(visit: Visit) -> Shown | Moved:
    """The form, and where texts were given their findings."""
    form: dict[str, Any] = {
        "gpu": visit.first("gpu"),
        "engine": visit.first("engine"),
        "model": visit.first("model"),
        "z": visit.first("z"),
        **choices(),
        "example": EXAMPLE,
    }
    texts: dict[str, str] = {}
    try:
        if visit.rest.startswith("~"):
            texts = visit.texts()
        elif visit.first("text"):
            texts = {"command": visit.first("text")}
        if not texts:
            return Shown(title=TITLE, template="audit.html", context={"form": form, "texts": {}})
        report = audit_texts(texts, wishes(visit.first("engine").replace("both", ""), visit.first("gpu"), visit.first("model")))
    except UserError as error:
        return Shown(title=TITLE, template="audit.html", context={"form": form, "texts": texts}, error=error)
    document = audit_view.document(report)
    sources = [source(name, text, report) for name, text in texts.items()]
    return Shown(title=document.title, template="audit.html", context={"form": form, "texts": texts, "sources": sources}, document=document, report=report)


def source(name: str, text: str, report: AuditReport) -> dict[str, Any]:
    """One text line by line, each with its findings, and what repairing makes of it."""
    here = [finding for finding in report.findings if finding.location.file == name]
    lines = text.rstrip("\n").split("\n")
    rows = [{"number": i, "text": line, "findings": [f for f in here if line_of(f, len(lines)) == i]} for i, line in enumerate(lines, 1)]
    fixed = next((f for f in report.fixed if f.file == name and f.diff), None)
    return {"name": name, "rows": rows, "fixed": fixed}


def line_of(finding: Finding, lines: int) -> int:
    """The line a finding is shown under; those about the whole command stand under its first."""
    return min(max(finding.location.line, 1), lines)
