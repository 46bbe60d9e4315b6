"""SARIF, GitHub annotations and JUnit of the same findings: valid, escaped, stable."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from serveright.outputs.github import annotations, summary
from serveright.outputs.junit import junit
from serveright.outputs.sarif import fingerprint, sarif, uri
from serveright.types.audit_reports import RulePage
from serveright.types.report import Finding, Location
from serveright.types.text import msg


def finding(severity: str = "error", line: int = 3, text: str = "a {value}") -> Finding:
    return Finding(
        code="PAR01",
        name="tp-does-not-divide-heads",
        severity=severity,  # pyright: ignore[reportArgumentType]
        effect="crash",
        confidence="certain",
        location=Location("deploy/a,b.yaml", line, 7),
        message=msg(text, value="x:y\n100%<&>"),
        why=msg("because"),
        fix=msg("do it"),
        flag="--tp",
    )


RULES = {"PAR01": RulePage(code="PAR01", name="n", severity="error", effect="crash", confidence="certain", since="0.1", title="T.", page="T.\n\n## Fix\nx")}


def test_sarif() -> None:
    run = json.loads(sarif([finding(), finding("note")], RULES, "1.0"))["runs"][0]
    assert run["tool"]["driver"]["rules"][0]["help"]["markdown"].startswith("T.")
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 7}
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "PAR01"
    assert "because" in first["message"]["text"]


def test_alerts_survive_moved_lines() -> None:
    assert fingerprint(finding(line=3)) == fingerprint(finding(line=90))
    assert fingerprint(finding(text="b {value}")) != fingerprint(finding())


def test_github() -> None:
    [line] = annotations([finding()]).splitlines()
    assert line.startswith("::error file=deploy/a%2Cb.yaml,line=3,col=7,title=serveright (PAR01)::a x:y%0A100%25<&>")
    assert annotations([finding("note")]).startswith("::notice ")
    assert "PAR01" in summary([finding()])


def test_junit() -> None:
    root = ElementTree.fromstring(junit([finding(), finding("note")], files=["clean.yaml"]))
    assert root.attrib == {"name": "serveright", "tests": "3", "failures": "1"}
    assert [case.find("failure") is not None for case in root.iter("testcase")] == [False, True, False]
    assert len(list(root.iter("skipped"))) == 1


def test_korean_messages_are_used() -> None:
    assert json.loads(sarif([finding()], RULES, "1", "ko"))["runs"][0]["results"]


@pytest.mark.parametrize(
    ("file", "kind", "written"),
    [
        ("./.github/run.sh", PurePosixPath, ".github/run.sh"),
        ("deploy/my run.sh", PurePosixPath, "deploy/my%20run.sh"),
        ("/srv/run.sh", PurePosixPath, "/srv/run.sh"),
        ("-", PurePosixPath, "-"),
        (r".\deploy\run.sh", PureWindowsPath, "deploy/run.sh"),
        (r"C:\srv\run.sh", PureWindowsPath, "file:///C:/srv/run.sh"),
    ],
)
def test_paths_of_every_system_become_uris(file: str, kind: type[PurePath], written: str) -> None:
    assert uri(file, kind) == written
