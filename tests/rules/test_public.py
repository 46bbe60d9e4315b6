"""Public faults and published commands that the rules were not written for: what is found, and what is wrongly said."""

from pathlib import Path

import pytest

from serveright.api.auditing import audit_text
from serveright.api.commands import Ask
from serveright.rules.run import audit_command
from serveright.types.audit_reports import AuditReport
from tests.rules.bench import context_of

CASES = Path(__file__).parent / "cases"
FLOOR = 42
"""Faults found of 43; 30 at the first run."""
PROVED = {
    ("minimax_m3.md", "PARSE09"): "no release up to 0.5.23 registers minimax-m3-nom; the name is minimax-m3",
}
"""Error-level findings on published commands that the engine's own tables prove."""
STARTS = 18
"""Engine starts in the published manifests; sidecars, routers and frontends are none."""


def rows(name: str, columns: int) -> list[list[str]]:
    return [line.split("|", columns - 1) for line in (CASES / name).read_text().splitlines() if line and not line.startswith("#")]


def test_public_faults_are_found_by_the_right_rule() -> None:
    missed: list[tuple[str, str, set[str]]] = []
    cases = rows("public.psv", 5)
    for address, gpu, version, expected, command in cases:
        codes = {finding.code for finding in audit_command(context_of(command, gpu, version or None))}
        if not codes & set(expected.split(",")):
            missed.append((address, expected, codes))
    print(f"{len(cases) - len(missed)} of {len(cases)} public faults found by the right rule; missed: {missed}")
    assert len(cases) - len(missed) >= FLOOR, missed


def errors(report: AuditReport, name: str) -> set[tuple[str, str]]:
    return {(name, finding.code) for finding in report.findings if finding.severity == "error"}


def test_published_commands_get_no_unproved_error() -> None:
    found: set[tuple[str, str]] = set()
    for address, gpu, version, command in rows("published.psv", 4):
        engine = "sglang" if "sglang" in command.split(" --")[0] else "vllm"
        report = audit_text(command.encode(), "-", Ask(engine=engine, version=version or None, gpu=gpu, local=False))
        assert len(report.deployments) == 1, command
        found |= errors(report, address.rsplit("/", 1)[-1])
    assert found == set(PROVED)


def test_published_manifests_are_read_and_get_no_error() -> None:
    starts = 0
    for path in sorted((CASES / "published").glob("*.yaml")):
        report = audit_text(path.read_bytes(), path.name, Ask(local=False))
        assert not errors(report, path.name), [finding for finding in report.findings if finding.severity == "error"]
        assert all(deployment.model for deployment in report.deployments), path.name
        starts += len(report.deployments)
    assert starts == STARTS


@pytest.mark.parametrize("name", ["llm-d-deepseek-v4-decode.yaml", "llm-d-kimi-k3-sglang.yaml"])
def test_groups_of_nodes_are_counted_whole(name: str) -> None:
    [deployment] = audit_text((CASES / "published" / name).read_bytes(), name, Ask(local=False)).deployments
    assert deployment.gpu_count == (8 if "v4" in name else 16)
