"""The command as a user meets it: exit codes, streams, languages, and what it must not import."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

RUN = [sys.executable, "-c", "from serveright.cli.main import main; main()"]
HEAVY = ("numpy", "rich", "asyncio", "starlette", "mcp", "openai", "huggingface_hub", "scipy", "importlib.metadata", "prometheus_client", "tree_sitter", "yaml")


def run(*words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    base = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([*RUN, *words], input=stdin, capture_output=True, text=True, check=False, env={**base, **(env or {})}, cwd=ROOT)


@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("inspect", "Qwen/Qwen3.6-27B"), ("size", "Qwen/Qwen3.6-27B", "--gpu", "2xh200"), ("plan", "--help")]
)
def test_nothing_heavy_is_imported(words: tuple[str, ...]) -> None:
    code = f"import sys; sys.argv = ['serveright', *{words!r}]\nfrom serveright.cli.main import main\ntry: main()\nexcept SystemExit: pass\nsys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    loaded = set(done.stderr.split("\n"))
    assert not [name for name in HEAVY if name in loaded]


def test_json_goes_to_stdout_alone_and_carries_its_schema() -> None:
    done = run("inspect", "Qwen/Qwen3.6-27B", "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["schema"] == "serveright.inspect/1"
    assert report["family"] == "hybrid"
    assert report["parameters"]["total"] == 27_781_427_952
    kinds = {entry["kind"]: entry for entry in report["attention"]}
    assert kinds["gated_deltanet"]["layers"] == 48
    assert (kinds["full"]["layers"], kinds["full"]["query_heads"], kinds["full"]["kv_heads"], kinds["full"]["head_dim"]) == (16, 24, 4, 256)
    assert report["mtp_layers"] == 1
    assert {"image", "video"} <= set(report["modalities"])


def test_stdin_and_renamed_files_give_the_same_answer(tmp_path: Path) -> None:
    config = json.dumps(json.loads((ROOT / "tests/data/qwen3_8b.json").read_text()))
    (tmp_path / "config.json").write_text(config)
    from_stdin = json.loads(run("inspect", "-", "--json", stdin=config).stdout)
    from_folder = json.loads(run("inspect", str(tmp_path), "--json").stdout)
    for report in (from_stdin, from_folder):
        assert report["parameters"]["total"] == 8_190_735_360
        assert report["family"] == "gqa"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("inspect", "no/such-model"), "no/such-model"),
        (("size", "Qwen/Qwen3.6-27B", "--gpu", "h20x"), "Did you mean"),
        (("size", "Qwen/Qwen3.6-27B", "--gpu", "2xh200", "--tp", "8"), "--tp"),
        (("plan", "Qwen/Qwen3.6-27B", "--gpu", "h200", "--rate", "2", "--concurrency", "3"), "--rate"),
        (("size", "Qwen/Qwen3.6-27B", "--gpu", "h200", "--engine", "vlm"), "vlm"),
        (("plann",), "plan"),
        (("inspect", "Qwen/Qwen3.6-27B", "--json", "--format", "text"), "--json"),
        (("facts", "gpus"), "gpu"),
    ],
)
def test_a_mistake_gets_one_message_with_the_way_out_and_exit_2(words: tuple[str, ...], says: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        '{"architectures": ["LlamaForCausalLM"], "hidden',
        "[]",
        "",
        "\x00\x01",
        '{"architectures": "x"}',
        '{"architectures": ["T5ForConditionalGeneration"]}',
        "{}",
    ],
)
def test_an_unreadable_config_gets_one_message(text: str) -> None:
    done = run("inspect", "-", stdin=text)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().split("\n")) <= 2


def test_what_does_not_fit_exits_1_and_says_how_it_could() -> None:
    done = run("size", "Qwen/Qwen3-32B", "--gpu", "rtx4090", "--context", "32768")
    assert done.returncode == 1
    assert "Ways out" in done.stdout
    assert run("size", "Qwen/Qwen3-32B", "--gpu", "rtx4090", "--context", "32768", "--exit-zero").returncode == 0


def test_korean_by_flag_and_by_locale() -> None:
    assert "어떤 모델인가" in run("inspect", "Qwen/Qwen3-8B", "--lang", "ko").stdout
    assert "어떤 모델인가" in run("inspect", "Qwen/Qwen3-8B", env={"LANG": "ko_KR.UTF-8"}).stdout


def test_no_color_in_pipes_unless_forced() -> None:
    assert "\x1b" not in run("inspect", "Qwen/Qwen3-8B").stdout
    assert "\x1b[1m" in run("inspect", "Qwen/Qwen3-8B", "--color", "always").stdout
    assert "\x1b" not in run("inspect", "Qwen/Qwen3-8B", env={"NO_COLOR": "1", "FORCE_COLOR": "1"}).stdout


def test_a_plan_becomes_a_deployment() -> None:
    done = run("plan", "Qwen/Qwen3-8B", "--gpu", "h100", "--engine", "vllm", "--emit", "compose")
    assert done.returncode == 0
    assert "vllm/vllm-openai" in done.stdout
    assert "compose" in run("plan", "Qwen/Qwen3-8B", "--gpu", "h100", "--emit", "list").stdout.split()
    assert run("plan", "Qwen/Qwen3-8B", "--gpu", "h100", "--emit", "compos").returncode == 2


@pytest.mark.parametrize("words", [("audit", "-", "--gpu", "1xh200"), ("--help",)])
def test_a_full_disk_is_one_message(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*RUN, *words], input="vllm serve Qwen/Qwen3-8B", stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hook_passes_over_files_that_start_no_server(tmp_path: Path) -> None:
    script, values = tmp_path / "build.sh", tmp_path / "values.yaml"
    script.write_text("make all\n")
    values.write_text("replicas: 2\n")
    done = run("audit", "--allow-none", "--fail-on", "error", str(script), str(values))
    assert (done.returncode, done.stderr.strip()) == (0, "no vLLM or SGLang start was found")
    assert run("audit", str(script)).returncode == 2
    assert run("audit", "-", stdin="make all").returncode == 2


def test_files_no_shell_reads(tmp_path: Path) -> None:
    wide = tmp_path / "wide.sh"
    wide.write_bytes("vllm serve m".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe.sh")
    (tmp_path / "run.sh").write_text("vllm serve m\n")
    for name, says in (("wide.sh", "UTF-16"), ("pipe.sh", "pipe")):
        done = run("audit", str(tmp_path / name))
        assert done.returncode == 2
        assert says in done.stderr
    assert "UTF-16" in run("audit", str(tmp_path), "--exit-zero").stdout


def test_what_the_system_refuses_is_said_in_the_readers_language(tmp_path: Path) -> None:
    for words in (("audit", str(tmp_path / "none.sh")), ("diagnose", "--log", str(tmp_path / "none.log"))):
        assert "그런 파일이나 폴더가 없습니다" in run(*words, "--lang", "ko").stderr
        assert "no such file or folder" in run(*words, "--lang", "en").stderr


@pytest.mark.parametrize(
    ("words", "listed"), [(("size", "Qwen/Qwen3-8B", "--gpu", "1xzzzz"), "facts gpu"), (("rule", "ZZZZ"), "rule"), (("facts", "model", "zzzz"), "facts model")]
)
def test_an_unknown_name_among_many_says_where_all_are_listed(words: tuple[str, ...], listed: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert f"serveright {listed}" in done.stderr
    assert run(*listed.split()).returncode == 0


def test_a_server_that_is_down_is_said_without_the_words_of_urllib() -> None:
    done = run("diagnose", "--url", "http://127.0.0.1:9", "--lang", "ko")
    assert "urlopen" not in done.stderr
    assert "그 주소에서 받는 프로그램이 없습니다" in done.stderr
