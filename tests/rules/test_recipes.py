"""Official recipe commands: no error-level finding that the engine's own tables or code do not prove."""

from collections import Counter
from pathlib import Path

import pytest

from serveright.rules.run import audit_command
from tests.rules.bench import context_of

RECIPES = [line for line in (Path(__file__).parent / "cases" / "recipes.txt").read_text().splitlines() if line and not line.startswith("#")]
PROVED = {
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "VER01"): "no release's parser has --tool-call-parser-plugin; the flag is --tool-parser-plugin",
}


@pytest.mark.parametrize("gpu", ["", "8xh200", "8xb200"])
def test_no_unproved_error(gpu: str) -> None:
    errors: Counter[tuple[str, str]] = Counter()
    for command in RECIPES:
        context = context_of(command, gpu)
        for finding in audit_command(context, ignore=["MEM"]):  # the recipes name no layout; what fits eight GPUs is not theirs to answer
            if finding.severity == "error":
                errors[str(context.command.model), finding.code] += 1
    assert set(errors) <= set(PROVED), errors


def test_the_proved_ones_are_found() -> None:
    for model, code in PROVED:
        command = next(line for line in RECIPES if model in line)
        assert code in {finding.code for finding in audit_command(context_of(command))}
