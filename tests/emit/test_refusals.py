"""What a format or a version cannot carry is refused with the way out, never emitted wrongly; the CPU target starts as a module."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from serveright.analysis.deployment import deploy
from serveright.analysis.roles import disaggregate
from serveright.errors import UnknownName, UsageError
from serveright.outputs import emit
from serveright.types.deployment import Deployment
from serveright.types.engine import Parallel
from tests.emit.designs import design, wanted
from tests.emit.test_law import read
from tests.emit.test_schemas import check


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("kubernetes", "wide"),
        ("compose", "pipeline"),
        ("docker", "apart-small"),
        ("rayserve", "sglang-replicas"),
        ("vllm-router", "sglang-replicas"),
        ("leaderworkerset", "one-gpu"),
        ("data-parallel-external", "one-gpu"),
        ("data-parallel-hybrid", "pipeline"),
        ("shell", "old-pipeline"),
        ("dynamo", "tier"),
    ],
)
def test_refused(format: str, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        emit.emit(format, design(name))
    assert caught.value.fix is not None


def test_unknown_format() -> None:
    with pytest.raises(UnknownName) as caught:
        emit.emit("kubernets", design("one-gpu"))
    assert "kubernetes" in caught.value.suggestions


def test_versions_without_a_way_say_so() -> None:
    asked = wanted("apart-small")
    made = disaggregate(asked, Parallel(tp=1), Parallel(tp=2), 1, 1, "mooncake")
    assert isinstance(made, Deployment)
    old = replace(asked, table=replace(asked.table, version="0.12.0"))
    assert not isinstance(disaggregate(old, Parallel(tp=1), Parallel(tp=2), 1, 1, "mooncake"), Deployment)
    bare = replace(asked, table=replace(asked.table, flags=tuple(flag for flag in asked.table.flags if flag.name != "--kv-transfer-config")))
    assert not isinstance(disaggregate(bare, Parallel(tp=1), Parallel(tp=2), 1, 1), Deployment)


def test_a_tier_the_engine_refuses_becomes_a_note() -> None:
    asked = replace(wanted("sglang-wide"), tier_bytes=64 << 30, chunk_tokens=256)
    made = deploy(asked)
    assert made.tier is None
    assert any("LMCache" in note.template for note in made.notes)
    assert not any("lmcache" in flag.flag for flag in made.role.launch.flags)


def test_only_flags_of_the_version(tmp_path: Path) -> None:
    for name in ("old-wide", "old-pipeline", "wide", "pipeline", "sglang-wide"):
        made, known = design(name), {flag.name for flag in wanted(name).table.flags}
        for role in made.roles:
            for join in role.joins:
                assert {flag.flag for flag in (*join.flags, *join.follower)} <= known | {"--headless"}


@pytest.mark.parametrize("copies", [1, 2])
def test_the_cpu_target(copies: int, tmp_path: Path) -> None:
    made = deploy(replace(wanted("one-gpu"), fleet=None, copies=copies))
    text = emit.emit("shell", made)[0].text
    check(text, tmp_path)
    assert "CUDA_VISIBLE_DEVICES" not in text
    commands = read(emit.emit("shell", made))
    assert len(commands) == copies
    assert {command.entry for command in commands} == {"vllm.entrypoints.openai.api_server"}
    assert {command.model for command in commands} == {made.model}
