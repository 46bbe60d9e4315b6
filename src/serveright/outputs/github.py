"""Findings as GitHub workflow commands, which show as annotations on the lines of a pull request."""

from collections.abc import Iterable

from serveright.outputs.language import render
from serveright.types.report import Finding

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}


def annotations(findings: Iterable[Finding], lang: str = "en") -> str:
    """One `::error file=...::message` line a finding. GitHub shows ten of a kind per step: write the summary as well."""
    return "".join(_line(finding, lang) + "\n" for finding in findings)


def _line(finding: Finding, lang: str) -> str:
    where = finding.location
    fields: list[str] = []
    if where.file and where.file != "-":
        fields.append(f"file={_property(where.file)}")
        if where.line:
            fields.append(f"line={where.line}")
        if where.column:
            fields.append(f"col={where.column}")
    fields.append(f"title={_property(f'serveright ({finding.code})')}")
    parts = [finding.message, finding.why, *([finding.fix] if finding.fix else [])]
    text = ". ".join(render(part, lang).rstrip(".") for part in parts) + "."
    return f"::{_COMMAND[finding.severity]} {','.join(fields)}::{_data(text)}"


def summary(findings: Iterable[Finding], lang: str = "en") -> str:
    """A Markdown table for the step summary, where no limit of ten applies."""
    rows = ["| | code | place | finding |", "|---|---|---|---|"]
    for finding in findings:
        place = f"{finding.location.file}:{finding.location.line}"
        rows.append(f"| {finding.severity} | {finding.code} | {_cell(place)} | {_cell(render(finding.message, lang))} |")
    return "\n".join(rows) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
