import json
import tomllib
from pathlib import Path

import pytest

from serveright.catalog.files import FACTS
from serveright.catalog.gpus import gpu_keys, load_gpu, parse_gpu_spec
from serveright.errors import InputError, UnknownName, UsageError
from serveright.types.hardware import Gpu, Interconnect
from tools.index_facts import gpu_index

NO_ORIGIN_NEEDED = {"key", "name", "vendor", "architecture", "aliases", "notes", "sources"}


def raw(key: str) -> dict:
    return tomllib.loads((FACTS / "gpus" / f"{key}.toml").read_text(encoding="utf-8"))


def figures(data: dict) -> set[str]:
    nested = {f"{table}.{field}" for table in ("flops", "interconnect") for field in data[table]}
    return (set(data) - NO_ORIGIN_NEEDED - {"flops", "interconnect"}) | nested


@pytest.mark.parametrize("key", gpu_keys())
def test_every_figure_has_a_dated_origin_and_every_field_is_known(key: str) -> None:
    data = raw(key)
    gpu = load_gpu(key)
    assert gpu.key == key
    assert set(data) <= set(Gpu.__struct_fields__)
    assert set(data["interconnect"]) <= set(Interconnect.__struct_fields__)
    assert figures(data) <= set(gpu.sources)
    assert all(source.text and source.as_of for source in gpu.sources.values())


@pytest.mark.parametrize("key", gpu_keys())
def test_usable_memory_is_never_more_than_the_marketing_figure_read_as_gib(key: str) -> None:
    gpu = load_gpu(key)
    assert 0.9 * gpu.memory_marketing_bytes < gpu.memory_bytes <= gpu.memory_marketing_bytes / 1e9 * 2**30


def test_the_index_is_up_to_date() -> None:
    assert json.loads((FACTS / "gpus" / "index.json").read_text(encoding="utf-8")) == gpu_index()


def test_known_figures_of_an_h200() -> None:
    gpu = load_gpu("h200")
    assert (gpu.sm, gpu.memory_bytes, gpu.bandwidth_bytes_per_s) == (90, round(139.8 * 2**30), 4.8e12)
    assert gpu.flops == {"bf16": 989e12, "fp16": 989e12, "fp8": 1979e12, "int8": 1979e12}
    assert gpu.interconnect.bus_bytes_per_s == 450e9, "900 GB/s is both ways"


def test_hardware_without_cuda_has_no_capability() -> None:
    assert load_gpu("mi300x").capability is None
    assert load_gpu("mi300x").sm is None


@pytest.mark.parametrize(
    ("spec", "key", "count", "nodes"),
    [
        ("h200", "h200-sxm", 1, 1),
        ("8xh200", "h200-sxm", 8, 1),
        ("8 x H200", "h200-sxm", 8, 1),
        ("h200:8", "h200-sxm", 8, 1),
        ("H200 x8", "h200-sxm", 8, 1),
        ("16xh200", "h200-sxm", 16, 2),
        ("2 x H100 PCIe", "h100-pcie", 2, 1),
        ("NVIDIA H100 80GB HBM3", "h100-sxm", 1, 1),
        ("H100 SXM", "h100-sxm", 1, 1),
        ("rtx4090", "rtx-4090", 1, 1),
        ("4090", "rtx-4090", 1, 1),
        ("8x4090", "rtx-4090", 8, 1),
        ("NVIDIA GeForce RTX 5090", "rtx-5090", 1, 1),
        ("A100-80GB", "a100-80gb-sxm", 1, 1),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm", 1, 1),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell-server", 1, 1),
        ("MI300X", "mi300x", 1, 1),
        ("8xmi300x", "mi300x", 8, 1),
        ("mi355x:8", "mi355x", 8, 1),
        ("72xgb200", "gb200", 72, 18),
        ("dgx spark", "gb10", 1, 1),
        ("2x DGX Spark", "gb10", 2, 2),
    ],
)
def test_names_people_write(spec: str, key: str, count: int, nodes: int) -> None:
    fleet = parse_gpu_spec(spec)
    assert (fleet.gpu.key, fleet.count, fleet.nodes) == (key, count, nodes)


def test_count_may_come_apart_from_the_name() -> None:
    assert parse_gpu_spec("h200", gpus=8).count == 8
    assert parse_gpu_spec("8xh200", gpus=8, nodes=2).per_node == 4
    with pytest.raises(UsageError):
        parse_gpu_spec("8xh200", gpus=4)


@pytest.mark.parametrize(("spec", "nodes"), [("0xh200", None), ("h200:0", None), ("8xh200", 3), ("h200", 0)])
def test_impossible_counts_are_refused(spec: str, nodes: int | None) -> None:
    with pytest.raises(UsageError):
        parse_gpu_spec(spec, nodes=nodes)


def test_an_unknown_name_gets_suggestions_and_no_guess() -> None:
    with pytest.raises(UnknownName) as caught:
        load_gpu("h2000")
    assert "h200" in caught.value.suggestions
    with pytest.raises(UnknownName):
        load_gpu("")


def test_a_gpu_of_ones_own_is_a_file(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text((FACTS / "gpus" / "h200-sxm.toml").read_text(encoding="utf-8").replace('"h200-sxm"', '"mine"'), encoding="utf-8")
    assert load_gpu(str(own)).key == "mine"
    own.write_text("key = 1", encoding="utf-8")
    with pytest.raises(InputError):
        load_gpu(str(own))
    with pytest.raises(InputError):
        load_gpu(str(tmp_path / "absent.toml"))


HALVES = {"mi250x", "ascend-910c"}
"""Packages of two devices: the fact file describes one of them."""

REPLACED = {"rtx-5080", "rtx-3060-12gb", "l20", "tpu-v5e", "tpu-v6e", "tpu-v7", "arc-pro-b60"}
"""GPUs whose usable memory was from memory or indirect and is now what a named device printed."""


@pytest.mark.shared
def test_figures_carried_over_unchanged(shared: Path) -> None:
    rows = json.loads((shared / "facts" / "gpus.json").read_text())["gpus"]
    assert {row["key"] for row in rows} <= set(gpu_keys())
    for row in rows:
        gpu = load_gpu(row["key"])
        for alias in row["aliases"]:
            assert load_gpu(alias.partition(" (")[0]).key == gpu.key
        if gpu.key in HALVES:
            continue
        if gpu.key in REPLACED:
            assert gpu.sources["memory_bytes"].kind == "log"
            assert gpu.memory_bytes == pytest.approx(row["memory_gib_usable"] * 2**30, rel=0.005)
        else:
            assert gpu.memory_bytes == round(row["memory_gib_usable"] * 2**30)
        assert gpu.bandwidth_bytes_per_s == pytest.approx(row["memory_bandwidth_gbps"] * 1e9)
        rates = {name: rate * 1e12 for name, rate in row["dense_tflops"].items() if rate is not None}
        assert {name: gpu.flops[name] for name in rates} == pytest.approx(rates)
        assert set(gpu.flops) <= {*rates, "fp16"}
        if gpu.interconnect.bus_bytes_per_s is not None:
            assert gpu.interconnect.bus_bytes_per_s == pytest.approx(row["interconnect"]["per_gpu_bidirectional_gbps"] * 1e9 / 2)


@pytest.mark.parametrize("spec", ["h200:∞", "h200:", "h200:eight", "h200*"])
def test_a_count_that_cannot_be_read_is_no_single_gpu(spec: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        parse_gpu_spec(spec)
