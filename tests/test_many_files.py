"""Folders of many files are audited by several processes: same report, same order, mistakes still one message."""

import pickle
from pathlib import Path

import msgspec
import pytest

from serveright.api import auditing, commands
from serveright.errors import InputError, UnknownName, UserError
from serveright.types.text import msg


def folder(at: Path, count: int) -> Path:
    for number in range(count):
        (at / f"{number:04}.sh").write_text(f"vllm serve Qwen/Qwen3-8B -tp {1 + number % 3} --max-num-seqs {32 * (1 + number % 5)}\n")
    (at / "none.sh").write_text("make\n")
    (at / "wide.sh").write_bytes("vllm serve m".encode("utf-16"))
    return at


def test_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = commands.Ask(gpu="1xh200")
    where = str(folder(tmp_path, 12))
    alone = auditing.audit([where], asked)
    monkeypatch.setattr(auditing, "MANY", 2)
    monkeypatch.setattr(auditing.os, "cpu_count", lambda: 2)
    assert msgspec.json.encode(auditing.audit([where], asked)) == msgspec.json.encode(alone)
    assert len(alone.deployments) == 12
    assert len(alone.unread) == 1
    with pytest.raises(UserError):
        auditing.audit([where], commands.Ask(gpu="nonsense"))


@pytest.mark.parametrize("error", [InputError(msg("{a} is wrong", a=1), msg("Mend it.")), UnknownName(msg("GPU"), "h20O", ["h200"])])
def test_mistakes_cross_processes(error: UserError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.message, again.fix) == (error.message, error.fix)
