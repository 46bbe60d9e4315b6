"""Edits land in the file: only the touched words change."""

import textwrap

import pytest

from serveright.rules.repair import diff, edits_of, repair
from serveright.rules.run import audit_command
from serveright.types.command import LaunchCommand
from serveright.types.report import Edit
from tests.rules.bench import READER, context_of

SHELL = """\
#!/bin/bash
# nightly server
export A=1
vllm serve Qwen/Qwen3-8B \\
  --swap-space 16 \\
  --max-model-len 8192 \\   # keep
  --port 8000
echo done
"""
SHELL = SHELL.replace("   # keep", "")
LIST = """\
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: v  # the server
      image: vllm/vllm-openai:v0.33.0
      args:
        - --model
        - Qwen/Qwen3-8B
        - --swap-space
        - "16"
        - --port=8000
"""
FLOW = """\
spec:
  containers:
    - image: vllm/vllm-openai:v0.33.0
      args: ["--model", "Qwen/Qwen3-8B", "--swap-space", "16", "--port", "8000"]  # flags
"""
CONFIG = """\
# config of the server
model: Qwen/Qwen3-8B
swap-space: 16
speculative-config:
  method: mtp
  num_speculative_tokens: 1
port: 8000
"""
PYTHON = """\
import subprocess

subprocess.run(["vllm", "serve", "Qwen/Qwen3-8B", "--swap-space", "16", "--port", "8000"])
"""
FILES = {"run.sh": SHELL, "pod.yaml": LIST, "flow.yaml": FLOW, "server.yaml": CONFIG, "run.py": PYTHON}


def reread(file: str):
    def read(text: str) -> LaunchCommand | None:
        commands = READER.text(text, file).commands
        return commands[0] if commands else None

    return read


@pytest.mark.parametrize("file", FILES)
def test_a_flag_is_removed_and_nothing_else(file: str) -> None:
    before = FILES[file]
    fixed = repair(before, [(Edit("--swap-space", None),)], reread(file))
    assert not fixed.left
    assert "16" not in fixed.text
    removed = [line for line in diff(before, fixed.text, file).splitlines() if line.startswith("-") and not line.startswith("---")]
    assert len(removed) <= 2
    flags = reread(file)(fixed.text).flags
    assert "--swap-space" not in [flag.written for flag in flags]
    assert [flag.value for flag in flags if flag.name == "--port"] == ["8000"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("flag", "value"), [("--max-num-seqs", "64"), ("--enable-prefix-caching", ""), ("--compilation-config", '{"cudagraph_mode": "PIECEWISE"}')]
)
def test_a_flag_is_added_as_its_neighbours_stand(file: str, flag: str, value: str) -> None:
    fixed = repair(FILES[file], [(Edit(flag, value),)], reread(file))
    assert not fixed.left, fixed
    added = [given for given in reread(file)(fixed.text).flags if given.name == flag]
    assert [given.value or "" for given in added] == [value]
    assert set(FILES[file].split("\n")) - set(fixed.text.split("\n")) <= {line for line in FILES[file].split("\n") if "8000" in line}


@pytest.mark.parametrize("file", FILES)
def test_a_value_is_changed_in_place(file: str) -> None:
    fixed = repair(FILES[file], [(Edit("--port", "9000"),)], reread(file))
    assert not fixed.left
    assert fixed.text == FILES[file].replace("8000", "9000")


@pytest.mark.parametrize("file", FILES)
def test_a_rename_stays_in_place(file: str) -> None:
    before = FILES[file].replace("--swap-space", "--cuda-graph-sizes").replace("swap-space:", "cuda-graph-sizes:")
    fixed = repair(before, [(Edit("--cuda-graph-sizes", None), Edit("--cudagraph-capture-sizes", "16"))], reread(file))
    assert not fixed.left
    assert fixed.text == before.replace("cuda-graph-sizes", "cudagraph-capture-sizes")


def test_what_cannot_be_placed_is_left() -> None:
    text = 'EXTRA="$(cat flags)"\nvllm serve Qwen/Qwen3-8B $EXTRA\n'
    fixed = repair(text, [(Edit("--port", "1"),)], lambda changed: None)
    assert fixed.text == text
    assert len(fixed.left) == 1


def test_safe_edits_only_unless_asked() -> None:
    findings = audit_command(context_of("vllm serve Qwen/Qwen3-8B --use-v2-block-manager --enforce-eager"))
    safe = {edit.flag for group in edits_of(findings, unsafe=False) for edit in group}
    every = {edit.flag for group in edits_of(findings, unsafe=True) for edit in group}
    assert "--use-v2-block-manager" in safe
    assert "--enforce-eager" not in safe
    assert "--enforce-eager" in every


def test_a_repaired_command_passes_its_own_audit() -> None:
    text = "vllm serve Qwen/Qwen3-8B --use-v2-block-manager --cuda-graph-sizes 8 --disable-mm-preprocessor-cache \\\n  --num-redundant-experts 2\n"
    findings = audit_command(context_of(text))
    fixed = repair(text, edits_of(findings, unsafe=True), reread("a.sh"))
    again = audit_command(context_of(fixed.text))
    assert not [finding for finding in again if finding.code == "VER01"], fixed
    assert textwrap.dedent(fixed.text)
