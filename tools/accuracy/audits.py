"""Audit of public commands that the rules were not written for: faults named by the right rule, and errors said of published commands. `python -m tools.accuracy.audits`.

Commands, labels and addresses stand in tests/rules/cases (public.psv, published.psv, published/); labels are from the words of the threads, written before the first run.
"""

from collections.abc import Iterator
from pathlib import Path

from serveright.api.auditing import audit_text
from serveright.api.commands import Ask
from serveright.types.report import Finding

CASES = Path(__file__).parents[2] / "tests" / "rules" / "cases"
FIRST_FOUND, FIRST_OF = 30, 43
FIRST_ERRORS, FIRST_PROVED = 12, 1
"""What the first run of 2026-11-29 gave, before anything was mended."""


def rows(name: str, columns: int) -> Iterator[list[str]]:
    """The cases of one list."""
    for line in (CASES / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("|", columns - 1)


def findings(command: str, gpu: str, version: str) -> tuple[Finding, ...]:
    """What the audit says of one command on its machine and release."""
    engine = "sglang" if "sglang" in command.split(" --")[0] else "vllm"
    return audit_text(command.encode(), "-", Ask(engine=engine, version=version or None, gpu=gpu or None, local=False)).findings


def main() -> int:
    """Print the section."""
    found, missed = 0, list[str]()
    for address, gpu, version, expected, command in rows("public.psv", 5):
        if {one.code for one in findings(command, gpu, version)} & set(expected.split(",")):
            found += 1
        else:
            missed.append(address.removeprefix("https://github.com/"))
    errors, starts, warned = list[str](), 0, 0
    for address, gpu, version, command in rows("published.psv", 4):
        said = findings(command, gpu, version)
        starts += 1
        errors += [f"{one.code} on {address.removeprefix('https://github.com/')}" for one in said if one.severity == "error"]
        warned += any(one.severity == "warning" for one in said)
    for path in sorted((CASES / "published").glob("*.yaml")):
        report = audit_text(path.read_bytes(), path.name, Ask(local=False))
        starts += len(report.deployments)
        errors += [f"{one.code} on {path.name}" for one in report.findings if one.severity == "error"]
        warned += len({one.location.line for one in report.findings if one.severity == "warning"} and {path.name})
    print("## Audit of public commands\n")
    print(f"Faults whose cause a maintainer confirmed, collected after the rules stood: the right rule at the first run in {FIRST_FOUND} of {FIRST_OF}")
    print(f"({FIRST_FOUND / FIRST_OF:.0%}); {found} of {found + len(missed)} after what they showed was mended, a figure that no longer measures anything new.")
    if missed:
        print(f"Still missed: {', '.join(missed)}.")
    print(f"\nEngine starts that engines, vendors and platforms publish as examples: {starts}, {warned} files or commands with a warning.")
    print(f"Errors said of them: {FIRST_ERRORS} at the first run, of which {FIRST_PROVED} was proved by the engine's tables; now {len(errors)}:")
    print(f"{', '.join(errors) or 'none'}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
