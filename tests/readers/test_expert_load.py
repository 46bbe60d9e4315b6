"""Expert loads in every form they come in; the two .pt files were written by PyTorch's own `torch.save`, as SGLang's recorder does."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from serveright.errors import InputError
from serveright.readers.expert_load import _tensor, read_expert_load  # pyright: ignore[reportPrivateUsage]

HERE = Path(__file__).parent / "expert_load"


def write(tmp_path: Path, name: str, text: str) -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def test_statistics_dump_adds_steps_and_leaves_dense_layers_out() -> None:
    assert read_expert_load(str(HERE / "sglang_stat.pt")).rows == ((95, 84, 67, 108, 104, 52, 77, 133), (104, 80, 132, 127, 93, 95, 105, 88))


def test_per_pass_dump_maps_slots_to_experts() -> None:
    assert read_expert_load(str(HERE / "sglang_per_pass.pt")).rows == ((22, 26, 9, 3), (8, 14, 19, 16))


def test_json_and_both_kinds_of_csv(tmp_path: Path) -> None:
    wanted = ((1.0, 3.0), (2.0, 2.0))
    assert read_expert_load(write(tmp_path, "a.json", '{"logical_count": [[1, 3], [2, 2]]}')).rows == wanted
    assert read_expert_load(write(tmp_path, "a.csv", "1,3\n2,2\n")).rows == wanted
    assert read_expert_load(write(tmp_path, "b.csv", "layer,expert,tokens\n3,0,1\n3,1,3\n4,0,2\n4,1,2\n")).rows == wanted


def test_balance_log_of_vllm_is_weighted_by_tokens(tmp_path: Path) -> None:
    line = "INFO 11-29 EPLB step: {} for model m: avg_tokens={}, max_tokens={}, balancedness=0.5, steps until the next rearrangement: 9"
    load = read_expert_load(write(tmp_path, "log", f"{line.format(1, 100.0, 150)}\nother\n{line.format(2, 300.0, 650)}\n"))
    assert load.rows == ()
    assert load.hottest_gpu == 2.0


@pytest.mark.parametrize("text", ["", "a,b\n", "1,2\n3\n", "-1,4\n", '{"x": 1}', '{"logical_count": [1, 2]}', '{"logical_count": [[1],[2, 3]]}'])
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_expert_load(write(tmp_path, "x", text))


def test_a_pickle_that_calls_something_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (print, ("run",))

    with zipfile.ZipFile(tmp_path / "evil.pt", "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps({"logical_count": Evil()}))
    with pytest.raises(InputError, match="no expert load"):
        read_expert_load(str(tmp_path / "evil.pt"))


def test_a_tensor_that_repeats_itself_without_end_is_refused(tmp_path: Path) -> None:
    """Strides of 0 make eight bytes look like exabytes."""
    written = (HERE / "sglang_stat.pt").read_bytes()

    with pytest.raises(pickle.UnpicklingError):
        _tensor(np.zeros(1), 0, (10**9, 10**9), (0, 0))
    for cut in (10, len(written) // 2, len(written) - 30):
        (tmp_path / "cut.pt").write_bytes(written[:cut])
        with pytest.raises(InputError, match="no expert load"):
            read_expert_load(str(tmp_path / "cut.pt"))


def test_an_encrypted_or_foreign_archive_is_refused(tmp_path: Path) -> None:
    written = bytearray((HERE / "sglang_stat.pt").read_bytes())
    place = written.rfind(b"PK\x01\x02")
    for offset, value in ((8, 1), (10, 99)):  # the flag of encryption, a method nobody knows
        changed = bytearray(written)
        at = changed.find(b"PK\x01\x02")
        while 0 <= at <= place:
            changed[at + offset] = value
            at = changed.find(b"PK\x01\x02", at + 4)
        (tmp_path / "x.pt").write_bytes(changed)
        with pytest.raises(InputError, match="no expert load"):
            read_expert_load(str(tmp_path / "x.pt"))
