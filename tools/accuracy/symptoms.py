"""Public faults with a confirmed cause: is the recorded cause first, or among the first three, when a report's own evidence is handed to `diagnose`?

The list of cases that count was fixed before any cause was written (`counts`); labels are codes of causes, kept in tests/rules/cases and tests/diagnose/cases.
"""

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from serveright.analysis.evidence import command_signs, log_signs
from serveright.analysis.not_a_fault import not_a_fault
from serveright.api.commands import Ask, facts_of, read
from serveright.readers.engine_log import read_text
from serveright.readers.symptom_text import read_symptom
from serveright.rules.causes.rank import ranked, score
from serveright.rules.causes.unknown import unknown_error
from serveright.rules.context import Context
from serveright.rules.run import audit_command
from serveright.types.diagnosis import Sign

ROOT = Path(__file__).parents[2]
LABELS = (ROOT / "tests" / "rules" / "cases" / "symptoms.psv", ROOT / "tests" / "diagnose" / "cases" / "labels.psv")
SURE = 0.5
"""Below this share of the first cause, what is named as no fault is the answer."""
OTHERS = ("trtllm", "atom", "vllm-ascend", "vllm-mlx", "dynamo", "vllm fork")


class Row(Struct, frozen=True, kw_only=True):
    """One case as a bundle: `label` holds the codes any of which names the recorded cause."""

    id: str
    label: frozenset[str]
    symptom: str
    log: str
    command: str
    gpu: str
    version: str


def skipped(case: dict[str, Any]) -> str | None:
    """Why a case does not count; None where it does."""
    if case["engine"] in OTHERS:
        return "another engine or a fork"
    if case["confidence"] == "low":
        return "low confidence: the cause was not confirmed"
    if (
        "log" in case["detectable_from"]
        and case["log_basis"] == "reconstructed"
        and "command" not in case["detectable_from"]
        and "config" not in case["detectable_from"]
    ):
        return "its only line was reconstructed"
    return None


def labels() -> dict[str, list[str]]:
    """id -> GPUs, version, codes, command."""
    lines = [line for path in LABELS for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {row[0]: row[1:] for row in (line.split("|", 4) for line in lines)}


def rows(shared: Path) -> tuple[list[Row], dict[str, str]]:
    """Cases that count, and the others with the reason."""
    known, left = labels(), dict[str, str]()
    found: list[Row] = []
    for line in (shared / "cases" / "symptoms.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        why = skipped(case)
        if why:
            left[case["id"]] = why
            continue
        gpu, version, codes, command = known[case["id"]]
        said = f"{case['symptom']} {case['metrics_signature'] or ''}"
        log = case["log_signature"] if case["log_basis"] in ("thread", "engine_source") and "log" in case["detectable_from"] else ""
        if case["log_basis"] == "thread" and case["log_signature"] and "log" not in case["detectable_from"]:
            said += f" {case['log_signature']}"
        shown = command if "command" in case["detectable_from"] or "config" in case["detectable_from"] else ""
        found.append(Row(id=case["id"], label=frozenset(codes.split(",")), symptom=said, log=log or "", command=shown, gpu=gpu, version=version))
    return found, left


def codes_of(row: Row) -> list[str]:
    """Codes of the causes in order."""
    signs: list[Sign] = list(read_symptom(row.symptom))
    logs = ()
    if row.log:
        log = read_text("\n".join(re.split(r" / ", row.log)), "log")
        logs = (log,)
        signs += (*log.signs, *log_signs(log))
    findings, engine = [], None
    if row.command:
        asked = Ask(version=row.version or None, gpu=row.gpu or None)
        commands = read(row.command.encode(), "-", asked).commands
        if commands:
            context = Context.of(commands[0], facts_of(commands[0], asked))
            findings, engine = audit_command(context), commands[0].engine
            signs += command_signs(context, context.shape)
    causes = ranked(score(signs, findings, engine))
    harmless = [one.code for one in not_a_fault(signs, (), random_prompts=False, sized=None)]
    if not any(cause.likelihood > SURE for cause in causes):
        return [*harmless, *(cause.code for cause in causes), *(cause.code for cause in unknown_error(logs, causes))]
    return [cause.code for cause in causes]


def shares(results: list[tuple[Row, list[str]]]) -> tuple[float, float]:
    """Share of cases whose label is first, and among the first three."""
    first = sum(bool(codes) and codes[0] in row.label for row, codes in results)
    third = sum(bool(row.label & set(codes[:3])) for row, codes in results)
    return first / len(results), third / len(results)


def shuffled(results: list[tuple[Row, list[str]]], seed: int = 1) -> tuple[float, float]:
    """The same with labels dealt out at random: what chance would give."""
    dealt = [row.label for row, _ in results]
    random.Random(seed).shuffle(dealt)
    return shares(
        [(Row(id=row.id, label=label, symptom="", log="", command="", gpu="", version=""), codes) for (row, codes), label in zip(results, dealt, strict=True)]
    )


def report(shared: Path) -> Iterator[str]:
    """The figures as lines."""
    found, left = rows(shared)
    results = [(row, codes_of(row)) for row in found]
    first, third = shares(results)
    by_chance = shuffled(results)
    yield f"diagnose: recorded cause first in {first:.1%}, among the first three in {third:.1%} of {len(found)} cases ({len(left)} skipped)"
    yield f"diagnose, labels shuffled: {by_chance[0]:.1%} and {by_chance[1]:.1%}"
    for row, codes in results:
        if not codes or codes[0] not in row.label:
            yield f"  {row.id}: {','.join(sorted(row.label))} among {codes[:4]}"


def main() -> None:
    """One section of the accuracy page."""
    lines = list(report(Path(sys.argv[1])))
    print("## Diagnosis of public faults\n")
    print("\n".join(f"- {line}" if not line.startswith("  ") else f"  - {line.strip()}" for line in lines))


if __name__ == "__main__":
    main()
