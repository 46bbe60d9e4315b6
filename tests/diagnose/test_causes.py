"""Every cause keeps the form: signs that exist, weights that mean something, no double code."""

import re
from pathlib import Path

import pytest

from serveright.readers.log_lines import known_lines
from serveright.readers.refusals import refusals
from serveright.readers.symptom_text import symptoms
from serveright.rules.causes.base import CauseRule, all_causes
from serveright.rules.registry import all_rules

SRC = Path(__file__).parents[2] / "src" / "serveright"
LOG = {f"log:{line.key}" for lines in known_lines().values() for line in lines} | {f"log:refused_{row.topic}" for rows in refusals().values() for row in rows}
SYMPTOM = {f"symptom:{key}" for key in symptoms()}
MADE = set(
    re.findall(
        r'"((?:log|metrics|derived|gpu|probe|command):\w+)"',
        "".join(path.read_text() for path in [SRC / "analysis" / "evidence.py", SRC / "api" / "diagnosing.py", *(SRC / "probes").glob("*.py")]),
    )
)
MADE |= {f"metrics:{key}" for key in re.findall(r'_sign\(\s*"(\w+)"', (SRC / "analysis" / "evidence.py").read_text())}
MADE |= {f"command:{key}" for key in re.findall(r'"(\w+)"', (SRC / "analysis" / "evidence.py").read_text())}
AUDIT = {f"audit:{rule.code}" for rule in all_rules()}


@pytest.mark.parametrize("cause", all_causes(), ids=lambda cause: cause.code)
def test_signs_exist(cause: CauseRule) -> None:
    known = LOG | SYMPTOM | MADE | AUDIT
    assert not set(cause.speaks) - known
    assert not set(cause.against) - known
    assert all(0 < weight <= 8 for weight in (*cause.speaks.values(), *cause.against.values()))
    assert cause.speaks


def test_codes_are_unique_and_named_after_their_file() -> None:
    codes = [cause.code for cause in all_causes()]
    assert len(codes) == len(set(codes))
    files = {path.stem.partition("_")[0].upper() for path in (SRC / "rules" / "causes").glob("*_*.py") if re.match(r"[a-z]+\d", path.stem)}
    assert files == set(codes)


def test_every_known_line_is_used() -> None:
    """A line that speaks for nothing is a fact, or no line at all."""
    used = {key for cause in all_causes() for key in (*cause.speaks, *cause.against)}
    idle = {line.key for lines in known_lines().values() for line in lines if not line.fact and f"log:{line.key}" not in used}
    assert idle <= {"vision_backend", "moe_default", "engine_died", "scheduler_exception", "custom_allreduce_off", "capture_failed", "prefix_experimental",
                    "encoder_budget", "gpu_memory_balance", "context_longer", "waiting_start", "prefix_off", "preempted", "mxfp4_sm89", "mla_fp8_triton"}  # fmt: skip
