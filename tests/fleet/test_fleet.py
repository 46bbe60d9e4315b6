"""A fleet keeps every row and doubles none: over kills, repeats, changes and both kinds of dump."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import yaml

from serveright.api import auditing, fleet_summary, fleets
from serveright.api.rows import audit_file
from serveright.readers.dump import pieces
from serveright.types.fleet import Row
from tests.fleet.synthetic import dump, folder, manifest

COUNT = 120


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("fleet"), COUNT)


@pytest.fixture(scope="module")
def rows(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    run = fleets.run([str(root)], file, jobs=2)
    assert (run.audited, run.reused) == (COUNT, 0)
    return file


def keyed(file: Path) -> dict[str, Row]:
    found = list(fleets.read_rows(file))
    assert max(Counter(row.key for row in found).values()) == 1
    return {row.key: row for row in found}


def test_one_row_each(rows: Path, root: Path) -> None:
    assert set(keyed(rows)) == {str(path.relative_to(root)) for path in root.rglob("*.yaml")}


def test_rows_say_what_the_audit_says(rows: Path, root: Path) -> None:
    for key, row in list(keyed(rows).items())[:30]:
        report = auditing.audit([str(root / key)])
        assert [(f.code, f.severity, f.location.line) for f in report.findings] == [(f.code, f.severity, f.line) for f in row.findings]
        assert (row.engine, row.model) == (report.deployments[0].engine, report.deployments[0].model)


def test_same_rows_by_one_process_and_by_two(rows: Path, root: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.jsonl"
    fleets.run([str(root)], alone, jobs=1)
    assert keyed(alone) == keyed(rows)


def test_nothing_is_audited_twice(rows: Path, root: Path) -> None:
    before = rows.read_bytes()
    run = fleets.run([str(root)], rows, jobs=1)
    assert (run.audited, run.reused) == (0, COUNT)
    assert rows.read_bytes() == before


def test_only_what_changed_is_audited(rows: Path, root: Path, tmp_path: Path) -> None:
    new = tmp_path / "fleet"
    folder(new, COUNT)
    changed = sorted(new.rglob("*.yaml"))[7]
    changed.write_text(manifest(7, seed=99))
    gone = sorted(new.rglob("*.yaml"))[3]
    gone.unlink()
    fresh = tmp_path / "fresh.jsonl"
    run = fleets.run([str(new)], fresh, jobs=1, previous=rows)
    assert (run.audited, run.reused) == (1, COUNT - 2)
    assert len(keyed(fresh)) == COUNT - 1
    diff = fleet_summary.difference(rows, fresh)
    assert diff.removed == (str(gone.relative_to(new)),)
    assert [item.key for item in diff.changed] == [str(changed.relative_to(new))]
    assert diff.same == COUNT - 2


def test_stale_rows_leave_the_file(rows: Path, root: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(rows.read_bytes())
    some = tmp_path / "some"
    some.mkdir()
    for path in sorted(root.rglob("*.yaml"))[:5]:
        (some / path.parent.name).mkdir(exist_ok=True)
        (some / path.parent.name / path.name).write_text(path.read_text())
    fleets.run([str(some)], file, jobs=1)
    assert len(keyed(file)) == 5


@pytest.mark.parametrize("cut", [1, 40, 200, 1000])
def test_a_torn_end_is_cut_off(rows: Path, root: Path, tmp_path: Path, cut: int) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(rows.read_bytes()[:-cut])
    run = fleets.run([str(root)], file, jobs=1)
    assert run.audited >= 1
    assert keyed(file) == keyed(rows)


def test_killed_in_the_middle_and_resumed(rows: Path, root: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    program = "import sys; from pathlib import Path; from serveright.api import fleets; fleets.CHUNK = 4; fleets.run([sys.argv[1]], Path(sys.argv[2]), jobs=2)"
    started = subprocess.Popen([sys.executable, "-c", program, str(root), str(file)], start_new_session=True)
    deadline = time.monotonic() + 60
    while (not file.exists() or file.stat().st_size == 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    partly = len(file.read_bytes().splitlines())
    assert 0 < partly < COUNT
    run = fleets.run([str(root)], file, jobs=1)
    assert run.reused >= partly - 4
    assert run.audited + run.reused == COUNT
    assert keyed(file) == keyed(rows)


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_dump_gives_the_same_rows_under_the_objects_names(rows: Path, root: Path, tmp_path: Path, ending: str) -> None:
    file = dump(tmp_path / "dump.yaml", range(COUNT))
    if ending == "json":
        whole = yaml.safe_load(file.read_text())
        file = tmp_path / "dump.json"
        file.write_text(json.dumps(whole, indent=4))
    out = tmp_path / "rows.jsonl"
    run = fleets.run([str(file)], out, jobs=1)
    assert run.pieces == 2 * COUNT
    found = keyed(out)
    assert len(found) == COUNT
    for number in range(0, COUNT, 9):
        row = found[f"team-{number % 37}/Deployment/model-{number:05d}"]
        alone = audit_file("x.yaml", manifest(number))[0]
        assert [f.code for f in row.findings] == [f["code"] for f in alone["findings"]]
        assert row.gpus == alone["gpus"]
    if ending == "yaml":
        lines = file.read_text().splitlines()
        for row in found.values():
            assert "vllm" in lines[row.line - 1] or "sglang" in lines[row.line - 1] or "python3" in lines[row.line - 1]


def test_the_same_object_in_two_dumps_keeps_both_rows(tmp_path: Path) -> None:
    one, two = dump(tmp_path / "a.yaml", range(3)), dump(tmp_path / "b.yaml", range(3))
    out = tmp_path / "rows.jsonl"
    fleets.run([str(one), str(two)], out, jobs=1)
    assert len(keyed(out)) == 6
    assert fleets.run([str(one), str(two)], out, jobs=1).audited == 0 or len(keyed(out)) == 6


def test_large_files_are_cut_into_documents(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join(manifest(number) for number in range(1200)))
    assert file.stat().st_size > 1 << 20
    cut = list(pieces([str(file)]))
    assert len(cut) == 1200
    assert [yaml.safe_load(piece.raw)["metadata"]["name"] for piece in cut[:3]] == ["model-00000", "model-00001", "model-00002"]
    assert cut[1].raw.decode().splitlines()[0] == file.read_text().splitlines()[cut[1].line - 1]


def test_losses() -> None:
    crash = audit_file("x.yaml", manifest(0).replace("replicas:", "replicas: 3 #").replace("vllm/vllm-openai", "vllm/vllm-openai"))[0]
    assert crash["gpus"] == crash["copies"] * (crash["gpus"] // crash["copies"])
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 3\n  template:\n    spec:\n"
        "      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}\n      containers:\n      - name: s\n        image: vllm/vllm-openai:v0.33.0\n"
        "        args: [Qwen/Qwen3-8B, --tensor-parallel-size, '2', --reasoning-parser, qwen3, --enable-auto-tool-choice, --tool-call-parser, hermes]\n"
        "        resources: {limits: {nvidia.com/gpu: '8'}}\n"
    )
    idle = audit_file("idle.yaml", text)[0]
    assert (idle["gpus"], idle["lost_gpus"]) == (24, 18)
    assert idle["lost_usd_per_hour"] == pytest.approx(18 * 4.75)
    broken = audit_file("broken.yaml", text.replace("'2'", "'3'"))[0]
    assert (broken["gpus"], broken["lost_gpus"]) == (24, 24)


def test_summary_counts_every_row(rows: Path) -> None:
    report = fleet_summary.summary(fleets.Run(rows=rows, pieces=COUNT, audited=COUNT, reused=0), top=5)
    found = list(fleets.read_rows(rows))
    assert report.deployments == COUNT == sum(report.by_severity.values())
    assert report.lost_gpus == sum(row.lost_gpus for row in found)
    assert len(report.worst) == 5
    assert report.worst[0].lost_gpus == max(row.lost_gpus for row in found)
    for group in report.groups:
        assert group.deployments == sum(any(f.code == group.code for f in row.findings) for row in found)


def test_parquet(rows: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert fleet_summary.to_parquet(rows, tmp_path / "rows.parquet") == COUNT
    table = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [row["piece"] for row in table] == [row.piece for row in fleets.read_rows(rows)]
    assert table[0] == msgspec.to_builtins(next(iter(fleets.read_rows(rows)))) | {"findings": table[0]["findings"]}


def test_a_huge_file_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.sh").write_text("vllm serve Qwen/Qwen3-8B\n")
    (tmp_path / "in" / "b.sh").write_bytes(b"#" * (17 << 20))
    run = fleets.run([str(tmp_path / "in")], tmp_path / "rows", jobs=1)
    assert (run.pieces, len(keyed(tmp_path / "rows"))) == (1, 1)
    report = fleet_summary.summary(run, 5)
    assert [note.values["path"] for note in report.notes] == ["b.sh"]
