"""Suppressions need a reason; idle ones are reported."""

from serveright.readers.suppressions import read_suppressions
from serveright.rules.run import audit_command, unused
from serveright.types.report import Finding
from tests.rules.bench import READER, Context, facts_of

TEXT = """\
#!/bin/bash
echo start
# serveright: ignore[PERF01] capture is broken on this board
vllm serve org/m \\
  --enforce-eager \\
  --swap-space 4
vllm serve org/n --enforce-eager  # serveright: ignore[PERF01]
# serveright: ignore[KV01] old
echo end
"""


def audit(text: str) -> tuple[list[Finding], list[Finding], list[Finding]]:
    marks = read_suppressions(text, "run.sh")
    every: list[Finding] = []
    kept: list[Finding] = []
    for command in READER.text(text, "run.sh").commands:
        context = Context.of(command, facts_of(command))
        every += audit_command(context)
        kept += audit_command(context, suppressions=marks)
    return every, kept, unused(marks, every)


def test_a_reason_takes_the_finding_away_over_the_whole_command() -> None:
    every, kept, _ = audit(TEXT)
    assert [finding.location.line for finding in every if finding.code == "PERF01"] == [5, 7]
    assert [finding.location.line for finding in kept if finding.code == "PERF01"] == [7]
    assert any(finding.code == "VER01" for finding in kept)


def test_idle_and_unreasoned_ones_are_reported() -> None:
    _, _, idle = audit(TEXT)
    assert [finding.location.line for finding in idle] == [7, 8]
    assert {finding.code for finding in idle} == {"SUP01"}


def test_select_and_ignore_take_prefixes() -> None:
    [command, _] = READER.text(TEXT, "run.sh").commands
    context = Context.of(command, facts_of(command))
    assert {finding.code for finding in audit_command(context, select=["VER"])} == {"VER01"}
    assert "VER01" not in {finding.code for finding in audit_command(context, ignore=["VER-01"])}
