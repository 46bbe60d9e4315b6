"""What makes the command pleasant: alone it says what next, it completes names, it publishes schemas that its own output satisfies."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.conftest import ROOT

PROGRAM = "import sys; sys.argv[0] = 'serveright'\nfrom serveright.cli.main import main; main()"


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1"}
    return subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False, env={**base, **env})


def completed(line: str) -> list[str]:
    words = line.split(" ")
    done = run(_SERVERIGHT_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert done.returncode == 0, done.stderr
    return [item.partition(",")[2] for item in done.stdout.splitlines()]


def test_alone_it_says_what_to_do_next() -> None:
    done = run()
    assert done.returncode == 0
    for verb in ("plan", "inspect", "choose", "audit", "diagnose", "explain", "serve"):
        assert f"serveright {verb}" in done.stdout
    assert "무엇" in run(LANG="ko_KR.UTF-8").stdout or "가진 것" in run(LANG="ko_KR.UTF-8").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str) -> None:
    done = run(_SERVERIGHT_COMPLETE=f"{shell}_source")
    assert done.returncode == 0
    assert "_SERVERIGHT_COMPLETE" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_reads_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    script = tmp_path / "completion"
    script.write_text(run(_SERVERIGHT_COMPLETE=f"{shell}_source").stdout, encoding="utf-8")
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("shell", "last"), [("bash", "1"), ("zsh", "1"), ("fish", "pl")])
def test_every_shell_asks_in_its_own_way(shell: str, last: str) -> None:
    done = run(_SERVERIGHT_COMPLETE=f"{shell}_complete", COMP_WORDS="serveright pl", COMP_CWORD=last)
    assert done.returncode == 0
    assert "plan" in done.stdout


def test_verbs_models_gpus_and_options_complete() -> None:
    assert "plan" in completed("serveright pl")
    assert "Qwen/Qwen3.6-27B" in completed("serveright plan Qwen/Qwen3.6")
    assert "8xh200-sxm" in completed("serveright plan Qwen/Qwen3.6-27B --gpu 8xh200")
    assert "--engine" in completed("serveright plan --eng")


REPORTS = {
    "inspect": ("inspect", "Qwen/Qwen3.6-27B"),
    "size": ("size", "Qwen/Qwen3.6-27B", "--gpu", "1xh100", "--context", "8k"),
    "check": ("check", "openai/gpt-oss-120b", "--gpu", "1xa100"),
    "plan": ("plan", "Qwen/Qwen3-8B", "--gpu", "1xh100"),
    "choose": ("choose", "--gpu", "1xrtx-3090", "--concurrency", "2"),
    "compare": ("compare", "Qwen/Qwen3-8B", "openai/gpt-oss-20b", "--gpu", "1xh100"),
    "explain": ("explain", "attention"),
    "rule": ("rule", "ENG01"),
    "facts-gpu": ("facts", "gpu", "h200"),
    "facts-model": ("facts", "model"),
    "facts-engine": ("facts", "engine", "sglang"),
}


@pytest.mark.parametrize("verb", REPORTS)
def test_a_real_report_satisfies_its_schema(verb: str) -> None:
    schema = json.loads(run("schema", verb).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    done = run(*REPORTS[verb], "--json", "--exit-zero")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == f"serveright.{verb}/1"
    jsonschema.validate(report, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"schema": report["schema"]}, schema)


def test_schema_alone_lists_the_verbs_and_an_unknown_one_is_a_mistake() -> None:
    listed = run("schema").stdout.split()
    assert set(REPORTS) <= set(listed)
    assert run("schema", "plann").returncode == 2


@pytest.mark.parametrize("verb", ["serve", "mcp"])
def test_a_missing_extra_says_how_to_install_it(verb: str) -> None:
    program = f"import sys\nsys.modules['uvicorn'] = sys.modules['mcp'] = None\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", program, verb],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8"},
    )
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_taken_port_is_a_mistake() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_the_skill_names_only_verbs_and_options_that_exist() -> None:
    import re

    text = (ROOT / "skills/serveright/SKILL.md").read_text()
    verbs = set(re.findall(r"serveright ([a-z]+)", text))
    helps = {verb: run(verb, "--help") for verb in verbs if verb not in ("serveright",)}
    assert all(done.returncode == 0 for done in helps.values()), [verb for verb, done in helps.items() if done.returncode]
    for line in re.findall(r"`(serveright [^`]+)`", text):
        verb = line.split()[1]
        for option in re.findall(r" (--[a-z-]+)", line):
            assert option in helps[verb].stdout, line
