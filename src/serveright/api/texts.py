"""Audit and diagnosis of texts that strangers hand over: nothing they name is looked at on this machine."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from serveright.api import asking
from serveright.api.auditing import audit_text
from serveright.api.commands import Ask, ask
from serveright.api.diagnosing import Bundle, diagnose
from serveright.errors import InputError
from serveright.types.audit_reports import AuditReport
from serveright.types.diagnosis import DiagnoseReport
from serveright.types.text import msg


def wishes(engine: str = "", gpu: str = "", model: str = "") -> Ask:
    """What was said about all commands; a model only by its catalogue name. Raises UserError."""
    if model:
        asking.named_model(model)
    return ask(engine or None, asking.gpu_spec(gpu) if gpu else None, model or None, local=False)


def audit_texts(texts: Mapping[str, str], asked: Ask) -> AuditReport:
    """All texts, by name, as one report with their repaired forms. Raises InputError where no engine start is found in any."""
    parts = [audit_text(text.encode(), name, asked, fix=True) for name, text in texts.items()]
    if not any(part.deployments or part.unread for part in parts):
        raise InputError(
            msg("no vLLM or SGLang start was found"),
            msg("Give a launch command, a script, a Compose file or a manifest; name the engine where only flags are given."),
        )
    return AuditReport(
        deployments=tuple(d for part in parts for d in part.deployments),
        findings=tuple(f for part in parts for f in part.findings),
        unread=tuple(u for part in parts for u in part.unread),
        fixed=tuple(f for part in parts for f in part.fixed),
    )


def diagnose_texts(texts: Mapping[str, str], *, symptom: str = "", gpu: str = "", model: str = "") -> DiagnoseReport:
    """Logs, metrics pages and a command by name. Raises UserError."""
    if model:
        asking.named_model(model)
    with tempfile.TemporaryDirectory() as folder:
        paths: dict[str, list[str]] = {"log": [], "metrics": [], "command": []}
        for name, text in texts.items():
            path = Path(folder) / (re.sub(r"[^\w.-]", "_", name) or "text")
            path.write_text(text, encoding="utf-8")
            paths[kind_of(name, text)].append(str(path))
        bundle = Bundle(
            logs=tuple(paths["log"]),
            metrics=tuple(paths["metrics"]),
            command=next(iter(paths["command"]), None),
            symptoms=(symptom,) if symptom else (),
            gpu=asking.gpu_spec(gpu) if gpu else None,
            model=model or None,
            local=False,
        )
        # the readers work on files; their passing folder is no business of the report
        try:
            report = diagnose(bundle)
        except InputError as error:
            values = {key: value.replace(f"{folder}/", "") if isinstance(value, str) else value for key, value in error.message.values.items()}
            raise InputError(msgspec.structs.replace(error.message, values=values), error.fix) from error
        raw = msgspec.json.encode(report).replace(f"{folder}/".encode(), b"")
        return msgspec.json.decode(raw, type=DiagnoseReport)


def kind_of(name: str, text: str) -> str:
    """`log`, `metrics` or `command`: by the name where it says so, else by content."""
    if re.search(r"^command\b|\.(sh|ya?ml|service)$", name):
        return "command"
    if re.search(r"^metrics\b", name) or re.search(r"^# TYPE \S+ (counter|gauge|histogram)", text, re.MULTILINE):
        return "metrics"
    return "log"
