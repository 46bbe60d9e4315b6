"""The playbook's symptoms from realistic bundles: right cause first, and a corrected command that passes its own audit."""

import tomllib
from pathlib import Path

import pytest

from serveright.api.auditing import audit_text
from serveright.api.commands import Ask
from serveright.api.diagnosing import Bundle, diagnose
from serveright.outputs.json import encode
from serveright.outputs.text import Options
from serveright.outputs.text import document as text
from serveright.outputs.views.diagnose import document

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_bundle(folder: Path) -> None:
    asked = tomllib.loads((folder / "bundle.toml").read_text())
    log, metrics = folder / "server.log", folder / "metrics.txt"
    report = diagnose(
        Bundle(
            logs=(str(log),) if log.exists() else (),
            metrics=(str(metrics),) if metrics.exists() else (),
            command=str(folder / "command.sh"),
            gpu=asked["gpu"],
            version=asked["version"],
            symptoms=(asked["symptom"],),
        )
    )
    assert report.causes[0].code == asked["first"], [(cause.code, cause.likelihood) for cause in report.causes]
    assert report.causes[0].evidence
    assert report.causes[0].fix
    corrected = report.corrected_command
    assert corrected is not None
    assert all(word in corrected for word in asked.get("gained", ()))
    assert not any(word in corrected for word in asked.get("lost", ()))
    again = audit_text(corrected.encode(), "-", Ask(gpu=asked["gpu"], version=asked["version"]))
    assert not [finding for finding in again.findings if finding.severity == "error"]
    assert asked["first"] not in {finding.code for finding in again.findings if finding.severity != "note"}
    for lang in ("en", "ko"):
        assert asked["first"] in text(document(report), Options(lang=lang, color=False, columns=0, explain=False))
        assert '"schema": "serveright.diagnose/1"' in encode(report, lang)
