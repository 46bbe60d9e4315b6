"""Public threads and operators' sentences collected after the causes were written: what `diagnose` said at first sight, and what it says now.

A log holds only lines quoted in the thread (paths shortened); the label was set from the maintainers' words or the reporter's repair before the first run.
"""

import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from serveright.api.diagnosing import Bundle, diagnose
from serveright.types.diagnosis import DiagnoseReport

CASES = Path(__file__).parents[2] / "tests" / "diagnose" / "cases"
SURE = 0.5
"""From this share on a wrong first cause is called confidently wrong."""


class Thread(Struct, frozen=True, kw_only=True):
    """One report: `label` holds the codes any of which names the cause, `basis` how it is known."""

    id: str
    url: str
    date: str
    label: frozenset[str]
    basis: str
    symptom: str = ""
    log: str = ""
    command: str = ""
    gpu: str = ""
    version: str = ""


def threads(name: str = "threads") -> list[Thread]:
    """The reports of one file."""
    rows = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(row, type=Thread) for row in rows]


def sentences() -> list[tuple[str, frozenset[str], str]]:
    """Language, codes, sentence; the code `none` where nothing is complained about."""
    lines = (line for line in (CASES / "sentences.psv").read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return [(lang, frozenset(codes.split(",")), text) for lang, codes, text in (line.split("|", 2) for line in lines)]


def of_thread(thread: Thread, folder: Path) -> DiagnoseReport:
    """What `diagnose` says to everything the report shows."""
    log = folder / "server.log"
    log.write_text(thread.log + "\n", encoding="utf-8")
    return diagnose(
        Bundle(
            logs=(str(log),) if thread.log else (),
            command=thread.command or None,
            symptoms=(thread.symptom,) if thread.symptom else (),
            gpu=thread.gpu or None,
            version=thread.version or None,
        )
    )


def verdict(report: DiagnoseReport, label: frozenset[str]) -> str:
    """first | three | none | unsure | wrong."""
    codes = [cause.code for cause in report.causes]
    if codes and codes[0] in label:
        return "first"
    if label & set(codes[:3]):
        return "three"
    if not codes or codes[0] == "GEN01":
        return "none"
    return "wrong" if report.causes[0].likelihood > SURE else "unsure"


def counted(name: str = "threads") -> tuple[Counter[str], list[str]]:
    """How often each verdict, and the ids that were not first."""
    found, missed = Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for thread in threads(name):
            said = verdict(of_thread(thread, Path(folder)), thread.label)
            found[said] += 1
            missed += [f"{thread.id} ({said})"] if said != "first" else []
    return found, missed


def counted_sentences() -> tuple[Counter[str], int, int]:
    """Verdicts of complaints; how many harmless sentences stay without a cause, and how many there are."""
    found, silent, harmless = Counter[str](), 0, 0
    for _, label, text in sentences():
        report = diagnose(Bundle(symptoms=(text,)))
        if "none" in label:
            harmless += 1
            silent += not report.causes
        else:
            found[verdict(report, label)] += 1
    return found, silent, harmless


def line(what: str, found: Counter[str]) -> str:
    """One sentence of figures."""
    of = sum(found.values())
    three = found["first"] + found["three"]
    return (
        f"{what}: right cause first {found['first']} of {of}, among three {three}, no cause named {found['none']}, "
        f"unsure {found['unsure']}, confidently wrong {found['wrong']}"
    )


def report() -> Iterator[str]:
    """The figures as lines."""
    for name, row in tomllib.loads((CASES / "first_run.toml").read_text(encoding="utf-8")).items():
        yield line(f"{name}, first sight on {row['date']}", Counter({**row, "date": 0, "of": 0, "three": row["three"] - row["first"]}))
    for path in sorted(CASES.glob("threads*.jsonl")):
        found, missed = counted(path.stem)
        yield line(f"{path.stem}, now", found)
        if missed:
            yield f"  not first: {', '.join(missed)}"
    found, silent, harmless = counted_sentences()
    yield line("sentences, now", found)
    yield f"harmless sentences without a cause: {silent} of {harmless}"


def main() -> None:
    """One section of the accuracy page."""
    print("## Diagnosis of reports and sentences it had not seen\n")
    print("\n".join(f"- {one}" if not one.startswith("  ") else f"  - {one.strip()}" for one in report()))


if __name__ == "__main__":
    main()
