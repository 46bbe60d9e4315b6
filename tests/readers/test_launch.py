"""Every kind of file gives its commands, each flag in its place."""

from pathlib import Path

import pytest

from serveright.errors import InputError
from serveright.readers.launch import MOST_FLAGS, Override, Reader
from serveright.readers.procfs import read_process
from serveright.types.command import LaunchCommand
from tests.readers.tables import READER, table

CASES = Path(__file__).parent / "cases" / "launch"


def one(text: str, file: str) -> LaunchCommand:
    [command] = READER.text(text, file).commands
    return command


def check_places(text: str, command: LaunchCommand) -> None:
    """Each flag stands in the text where its location says."""
    lines = text.split("\n")
    for flag in command.flags:
        here = lines[flag.location.line - 1][flag.location.column - 1 :]
        assert here.startswith((flag.written, flag.written.lstrip("-"))), (flag, here)


SHELL = [
    ("vllm serve org/m -tp 8 --port 1", "org/m", {"--tensor-parallel-size": "8", "--port": "1"}),
    ("python3 -m vllm.entrypoints.openai.api_server --model org/m --port=2", "org/m", {"--port": "2"}),
    ("exec nohup numactl -N 0 python -u -m sglang.launch_server --model org/m --tp 4 > log 2>&1 &", "org/m", {"--tp-size": "4"}),
    ("sglang serve --model-path org/m \\\n  --tp-size 2 \\\n  --trust-remote-code", "org/m", {"--tp-size": "2", "--trust-remote-code": None}),
    ("M=org/m; export P=9\nvllm serve $M --port ${P:-1} -tp ${TP:-8}", "org/m", {"--port": "9", "--tensor-parallel-size": "8"}),
    ('A=(--port 5)\nA+=(-tp 2)\nvllm serve org/m "${A[@]}"', "org/m", {"--port": "5", "--tensor-parallel-size": "2"}),
    ("bash -lc 'cd /x && vllm serve org/m --port 3'", "org/m", {"--port": "3"}),
    ("ssh node <<'EOF'\nvllm serve org/m --port 4\nEOF", "org/m", {"--port": "4"}),
    ("if true; then vllm serve org/m --port 6; fi", "org/m", {"--port": "6"}),
    ("docker run --gpus '\"device=0,1\"' -e A=1 -p 1:1 vllm/vllm-openai:v0.11.0 --model org/m --port 7", "org/m", {"--port": "7"}),
    ("podman run --rm -it lmsysorg/sglang:v0.5.9-cu129 python3 -m sglang.launch_server --model-path org/m --tp 2", "org/m", {"--tp-size": "2"}),
]


@pytest.mark.parametrize(("text", "model", "flags"), SHELL, ids=[text[:40] for text, _, _ in SHELL])
def test_shell(text: str, model: str, flags: dict[str, str | None]) -> None:
    command = one(text, "run.sh")
    assert command.model == model
    found = {flag.name: flag.value for flag in command.flags}
    assert {name: found[name] for name in flags} == flags
    check_places(text, command)


def test_image_gives_engine_version_and_gpus() -> None:
    command = one(SHELL[9][0], "run.sh")
    assert (command.engine, command.engine_version, command.version_source, command.gpu_count) == ("vllm", "0.11.0", "image", 2)
    assert one(SHELL[10][0], "run.sh").engine_version == "0.5.9"


def test_an_override_wins_over_the_image() -> None:
    [command] = Reader(table, Override(version="0.20.0")).text(SHELL[9][0], "run.sh").commands
    assert (command.engine_version, command.version_source) == ("0.20.0", "--engine")


@pytest.mark.parametrize(
    "text",
    [
        "echo vllm serve org/m",
        "pip install vllm",
        "# vllm serve org/m",
        "grep 'vllm serve' log",
        "vllm bench serve --model m",
        "cat <<EOF > notes\nvllm is fine\nEOF",
    ],
)
def test_what_starts_no_server(text: str) -> None:
    assert READER.text(text, "run.sh").commands == ()


def test_unknown_values_are_said() -> None:
    command = one("vllm serve $1 --port $(free_port) -tp $TP", "run.sh")
    assert command.model is None
    assert {flag.written: flag.literal for flag in command.flags} == {"--port": False, "-tp": False}
    assert command.unread


@pytest.mark.parametrize("path", sorted(CASES.glob("*")), ids=lambda path: path.name)
def test_golden_files(path: Path) -> None:
    """`# expect: ...` lines at the end of each file say what it holds."""
    text = path.read_text()
    expected = [line.split("expect:", 1)[1].strip() for line in text.splitlines() if "expect:" in line]
    commands = READER.text(text, path.name.removesuffix(".case")).commands
    assert [summary(command) for command in commands] == expected
    for command in commands:
        if command.entry not in ("ray.serve.llm", "config") and path.suffix != ".py":
            check_places(text, command)


def summary(command: LaunchCommand) -> str:
    flags = " ".join(f"{flag.name or flag.written}={flag.value or ''}@{flag.location.line}" for flag in command.flags)
    gpu = f"{command.gpu or '-'}x{command.gpu_count or '-'}"
    return f"{command.engine}@{command.engine_version or '-'} {command.model} {gpu} n{command.nodes} {command.role} {flags}"


def test_a_config_file_beside_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tensor-parallel-size: 4\nport: 1\n")
    (tmp_path / "run.sh").write_text("vllm serve org/m --config c.yaml --port 2\n")
    [command] = READER.file(tmp_path / "run.sh").commands
    assert [(flag.name, flag.value) for flag in command.flags] == [("--tensor-parallel-size", "4"), ("--port", "1"), ("--config", "c.yaml"), ("--port", "2")]
    assert command.flags[0].location.file.endswith("c.yaml")


def test_a_running_process(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"/usr/bin/python3\0/usr/local/bin/vllm\0serve\0org/m\0--port\0" + b"1\0")
    (folder / "environ").write_bytes(b"VLLM_X=1\0HOME=/root\0")
    [command] = READER.simple(read_process(7, tmp_path)).commands
    assert command.model == "org/m"
    assert list(command.env) == ["VLLM_X"]
    with pytest.raises(InputError):
        read_process(8, tmp_path)


def test_endless_commands_are_cut_and_said() -> None:
    command = one("vllm serve org/m " + " ".join(f"--strange-{n} {n}" for n in range(5000)), "run.sh")
    assert len(command.flags) == MOST_FLAGS
    assert any(why.values.get("flags") == MOST_FLAGS for why in command.unread)
