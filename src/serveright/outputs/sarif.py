"""Findings as SARIF 2.1.0: one run, every rule described, places 1-based, alerts that survive moved lines."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from serveright.outputs.language import render
from serveright.types.audit_reports import RulePage
from serveright.types.report import Finding

_LEVEL = {"error": "error", "warning": "warning", "note": "note"}
_PRECISION = {"certain": "very-high", "likely": "high", "possible": "medium"}
_SECURITY = "5.0"


def sarif(findings: Iterable[Finding], rules: Mapping[str, RulePage], version: str, lang: str = "en") -> str:
    """The SARIF document; `rules` maps codes to their pages, codes without one still get an entry."""
    found = list(findings)
    codes = sorted({finding.code for finding in found} | set(rules))
    index = {code: position for position, code in enumerate(codes)}
    names = {finding.code: finding.name for finding in found}
    driver: dict[str, Any] = {
        "name": "serveright",
        "version": version,
        "rules": [_rule(code, rules.get(code), names.get(code, code)) for code in codes],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [_result(finding, index, lang) for finding in found]}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str, text: RulePage | None, name: str) -> dict[str, Any]:
    if text is None:
        return {"id": code, "name": name, "shortDescription": {"text": name}}
    tags = [text.effect, *(["security"] if text.effect == "security" else [])]
    properties: dict[str, Any] = {"tags": tags, "precision": _PRECISION[text.confidence]}
    if text.effect == "security":
        properties["security-severity"] = _SECURITY
    return {
        "id": code,
        "name": text.name,
        "shortDescription": {"text": text.title},
        "fullDescription": {"text": text.title},
        "help": {"text": text.page, "markdown": text.page},
        "defaultConfiguration": {"level": _LEVEL[text.severity]},
        "properties": properties,
    }


def _result(finding: Finding, index: Mapping[str, int], lang: str) -> dict[str, Any]:
    parts = [finding.message, finding.why, *([finding.fix] if finding.fix else [])]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVEL[finding.severity],
        "message": {"text": ". ".join(render(part, lang).rstrip(".") for part in parts) + "."},
        "partialFingerprints": {"serveright/v1": fingerprint(finding)},
        "properties": {"effect": finding.effect, "confidence": finding.confidence, "sources": list(finding.sources)},
    }
    where = finding.location
    if where.file and where.file != "-":
        physical: dict[str, Any] = {"artifactLocation": {"uri": uri(where.file)}}
        if where.line:
            physical["region"] = {"startLine": where.line, **({"startColumn": where.column} if where.column else {})}
        result["locations"] = [{"physicalLocation": physical}]
    return result


def fingerprint(finding: Finding) -> str:
    """Rule, file, flag and message template: what stays when lines move."""
    parts = (finding.code, finding.location.file, finding.flag or "", finding.message.template)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def uri(file: str, kind: type[PurePath] = PurePath) -> str:
    """A path of this system as SARIF writes it: forward slashes, what a URI cannot hold escaped, no `./` in front."""
    path = kind(file)
    return ("file:///" if path.drive else "") + quote(path.as_posix(), safe=":/~,@!$&'()*+;=" if path.drive else "/~,@!$&'()*+;=")
