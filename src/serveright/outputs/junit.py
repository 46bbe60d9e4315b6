"""Findings as JUnit XML: one suite a file, one case a finding; notes are skipped cases, so that they do not fail a build."""

import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from serveright.outputs.language import render
from serveright.types.report import Finding

_INVALID = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(findings: Iterable[Finding], files: Sequence[str] = (), lang: str = "en") -> str:
    """The report; files without a finding get a passing case."""
    by_file: dict[str, list[Finding]] = {file: [] for file in files}
    for finding in findings:
        by_file.setdefault(finding.location.file or "-", []).append(finding)
    suites = [_suite(file, found, lang) for file, found in by_file.items()]
    total = sum(max(1, len(found)) for found in by_file.values())
    failures = sum(finding.severity != "note" for found in by_file.values() for finding in found)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="serveright" tests="{total}" failures="{failures}">\n{"".join(suites)}</testsuites>\n'


def _suite(file: str, findings: Sequence[Finding], lang: str) -> str:
    failures = sum(finding.severity != "note" for finding in findings)
    cases = "".join(_case(finding, lang) for finding in findings) or f'    <testcase classname={_attribute(file)} name="audit"/>\n'
    head = f'  <testsuite name={_attribute(file)} tests="{max(1, len(findings))}" failures="{failures}" skipped="{len(findings) - failures}">\n'
    return f"{head}{cases}  </testsuite>\n"


def _case(finding: Finding, lang: str) -> str:
    message = render(finding.message, lang)
    body = "\n".join([render(finding.why, lang), *([render(finding.fix, lang)] if finding.fix else []), f"{finding.location.file}:{finding.location.line}"])
    name = _attribute(f"{finding.code} line {finding.location.line}")
    head = f"    <testcase classname={_attribute(finding.location.file)} name={name}>\n"
    if finding.severity == "note":
        return f"{head}      <skipped message={_attribute(message)}/>\n    </testcase>\n"
    return f"{head}      <failure message={_attribute(message)} type={_attribute(finding.severity)}>{escape(_clean(body))}</failure>\n    </testcase>\n"


def _clean(text: str) -> str:
    return _INVALID.sub("\N{REPLACEMENT CHARACTER}", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
