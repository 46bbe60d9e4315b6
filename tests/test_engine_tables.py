"""The shipped tables: readable, sourced, and true where a human checked a release against its parser."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from serveright.catalog.engines import diff_tables, first_version_with, last_version_with, load_table, successors, table_index, versions
from serveright.errors import UsageError
from serveright.types.engine_table import EngineName, EngineTable, Flag
from serveright.versions import release, within

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
ALL = [(engine, version) for engine in ENGINES for version in versions(engine)]


def spellings(table: EngineTable) -> set[str]:
    return {n for f in table.flags for n in (f.name, *f.aliases, *f.negatives, *((f.negative,) if f.negative else ()))}


def flag(engine: EngineName, version: str, name: str) -> Flag:
    return next(f for f in load_table(engine, version)[0].flags if name in (f.name, *f.aliases))


@pytest.mark.parametrize(("engine", "version"), ALL)
def test_every_table_decodes_says_where_it_is_from_and_is_not_thin(engine: EngineName, version: str) -> None:
    table, note = load_table(engine, version)
    assert note is None
    assert (table.engine, table.version) == (engine, version)
    assert version in table.source
    assert table.released[:2] == "20"
    assert table.requires["transformers"]
    assert table.requires["torch"]
    assert len(table.flags) > 100
    assert len(table.architectures) > 60
    assert table.tool_parsers
    assert table.reasoning_parsers
    assert table.quantizations
    assert table.backends
    assert table.kv_dtypes[0] == "auto"
    assert table.speculative_methods
    assert table.environment


@pytest.mark.parametrize(("engine", "version"), ALL)
def test_no_spelling_belongs_to_two_flags(engine: EngineName, version: str) -> None:
    names = [n for f in load_table(engine, version)[0].flags for n in (f.name, *f.aliases)]
    assert len(names) == len(set(names))
    assert all(n.startswith("-") and "_" not in n for n in names)


def test_required_releases_are_shipped() -> None:
    assert {"0.11.0", "0.15.0", "0.19.0", *(f"0.{n}.0" for n in range(22, 34))} <= set(versions("vllm"))
    assert {"0.4.6", "0.4.10", *(f"0.5.{n}" for n in range(2, 24))} <= set(versions("sglang"))


# Tried against the released parser of 0.33.0, or its wheel searched by hand: spelling -> last version that takes it (None: the newest).
LIVES: dict[str, tuple[str | None, str | None]] = {
    "--num-redundant-experts": ("0.10.0", "0.11.2"),
    "--mm-processor-cache-type": ("0.11.0", None),
    "--mm-encoder-tp-mode": ("0.10.2", None),
    "--language-model-only": ("0.17.0", None),
    "--swap-space": ("0.10.0", "0.17.1"),
    "--calculate-kv-scales": ("0.10.0", "0.27.1"),
    "--max-num-partial-prefills": ("0.10.0", "0.26.0"),
    "--task": ("0.10.0", "0.12.0"),
    "--cuda-graph-sizes": ("0.10.0", "0.12.0"),
    "--disable-mm-preprocessor-cache": ("0.10.0", "0.12.0"),
    "--rope-scaling": ("0.10.0", "0.11.0"),
    "--attention-backend": ("0.13.0", None),
    "--all2all-backend": ("0.11.1", None),
    "-dcp": ("0.10.2", None),
    "--spec-tokens": ("0.22.0", None),
    "--disable-log-requests": ("0.10.0", None),
    "--no-enable-prefix-caching": ("0.10.0", None),
    "--eplb-algorithm": (None, None),
    "--ep-num-redundant-experts": (None, None),
    "--num-scheduler-steps": ("0.10.0", "0.10.0"),
}


@pytest.mark.parametrize("name", LIVES)
def test_vllm_flags_live_from_and_until_the_checked_versions(name: str) -> None:
    since, until = LIVES[name]
    assert first_version_with("vllm", "flag", name) == since
    assert last_version_with("vllm", "flag", name) == (None if since is None else until or versions("vllm")[-1])


def test_vllm_choices_and_defaults_by_version() -> None:
    assert set(flag("vllm", "0.33.0", "--dtype").choices) == {"auto", "bfloat16", "float", "float16", "float32", "half"}
    assert "all" in flag("vllm", "0.31.0", "--mamba-cache-mode").choices
    assert set(flag("vllm", "0.32.0", "--mamba-cache-mode").choices) == {"align", "none"}
    assert flag("vllm", "0.19.1", "--gpu-memory-utilization").default == 0.9
    assert flag("vllm", "0.20.0", "--gpu-memory-utilization").default == 0.92
    assert flag("vllm", "0.33.0", "-tp").name == "--tensor-parallel-size"
    assert "num_redundant_experts" in flag("vllm", "0.33.0", "--eplb-config").fields
    assert {"method", "num_speculative_tokens"} <= set(flag("vllm", "0.33.0", "--speculative-config").fields)
    assert {"pplx", "deepep_low_latency"} <= set(flag("vllm", "0.33.0", "--all2all-backend").choices)
    assert "deepep_v2" not in load_table("vllm", "0.23.0")[0].all2all_backends
    assert "deepep_v2" in load_table("vllm", "0.24.0")[0].all2all_backends
    assert "glm47" in load_table("vllm", "0.33.0")[0].tool_parsers
    assert {"mtp", "qwen3_next_mtp"} <= set(load_table("vllm", "0.33.0")[0].speculative_methods)


def test_vllm_limits_of_0_33_0() -> None:
    table = load_table("vllm", "0.33.0")[0]
    least = {q.name: q.min_capability for q in table.quantizations}
    assert {n: least[n] for n in ("fp8", "modelopt", "modelopt_fp4", "mxfp4", "deepseek_v4_fp8", "compressed-tensors", "gptq", "awq", "fp_quant")} == {
        "fp8": 75, "modelopt": 80, "modelopt_fp4": 75, "mxfp4": 80, "deepseek_v4_fp8": 75, "compressed-tensors": 70, "gptq": 60, "awq": 75, "fp_quant": 100,
    }  # fmt: skip
    backends = {b.name: b for b in table.backends}
    assert backends["FLASHMLA_SPARSE"].capabilities == (90, 100, 103)
    assert backends["FLASHINFER_MLA_SPARSE_SM120"].capabilities == (120, 121)
    assert backends["FLASH_ATTN_MLA"].capabilities == (90,)
    assert backends["CUTLASS_MLA"].block_sizes == (128,)
    assert backends["FLASHMLA"].kind == "mla"


def test_sglang_facts_by_version() -> None:
    assert first_version_with("sglang", "flag", "--enable-moe-ep") is None
    assert last_version_with("sglang", "flag", "--enable-ep-moe") == "0.5.4"
    assert first_version_with("sglang", "flag", "--attn-dp-size") == "0.5.22"
    assert last_version_with("sglang", "flag", "--cuda-graph-max-bs") == "0.5.19"
    assert successors("sglang")["--cuda-graph-max-bs"].to == "--cuda-graph-max-bs-decode"
    assert successors("sglang")["--nsa-prefill-backend"].to == "--dsa-prefill-backend"
    assert load_table("sglang", "0.4.6")[0].kv_dtypes == ("auto", "fp8_e5m2", "fp8_e4m3")
    assert "fp4_e2m1" in load_table("sglang", "0.5.20")[0].kv_dtypes
    assert "fp4_e2m1" not in load_table("sglang", "0.5.21")[0].kv_dtypes
    assert "nvfp4" in load_table("sglang", "0.5.16")[0].kv_dtypes
    assert flag("sglang", "0.5.23", "--enable-dp-attention").deprecated


def test_minimum_versions() -> None:
    assert first_version_with("vllm", "architecture", "DeepseekV32ForCausalLM") == "0.11.0"
    assert first_version_with("vllm", "architecture", "NoSuchModel") is None


def test_a_version_between_tables_is_served_by_the_older_one_and_says_so() -> None:
    table, note = load_table("vllm", "0.19.2")
    assert table.version == "0.19.1"
    assert note is not None
    assert load_table("vllm", "9.0")[0].version == versions("vllm")[-1]
    assert load_table("vllm")[0].version == versions("vllm")[-1]
    assert load_table("vllm", "v0.33.0")[1] is None


@pytest.mark.parametrize("version", ["0.1.0", "latest", ""])
def test_what_cannot_be_served_is_refused(version: str) -> None:
    with pytest.raises(UsageError):
        load_table("vllm", version)


def test_versions_sort_as_released() -> None:
    assert sorted(["0.10.1", "0.10.1.1", "0.10.0", "0.9.2", "0.5.5.post3", "0.5.5", "0.21.0", "0.21.0rc1"], key=release) == [
        "0.5.5",
        "0.5.5.post3",
        "0.9.2",
        "0.10.0",
        "0.10.1",
        "0.10.1.1",
        "0.21.0rc1",
        "0.21.0",
    ]
    for engine in ENGINES:
        assert list(versions(engine)) == sorted(versions(engine), key=release)


def test_an_upgrade_lists_what_broke() -> None:
    changes = diff_tables(load_table("vllm", "0.19.0")[0], load_table("vllm", "0.33.0")[0], successors("vllm")).changes
    found = {(c.area, c.kind, c.name): c for c in changes}
    assert ("flag", "removed", "--calculate-kv-scales") in found
    utilization = found["flag", "default", "--gpu-memory-utilization"]
    assert (utilization.before, utilization.after) == (0.9, 0.92)
    assert found["flag", "choices", "--mamba-cache-mode"].lost == ("all",)
    assert ("flag", "deprecated", "--log-config-file") in found
    assert found["requires", "default", "torch"].after == "==2.14.0"
    assert ("architecture", "added", "DeepseekV4ForCausalLM") in found


def test_a_renamed_flag_is_not_called_removed() -> None:
    changes = diff_tables(load_table("sglang", "0.5.19")[0], load_table("sglang", "0.5.20")[0], successors("sglang")).changes
    renamed = {c.name: c.to for c in changes if c.kind == "renamed"}
    assert renamed["--nsa-prefill-backend"] == "--dsa-prefill-backend"
    assert not {c.name for c in changes if c.kind == "removed" and c.area == "flag"} & set(renamed)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_against_itself_changes_nothing_and_backwards_swaps(engine: EngineName) -> None:
    old, new = load_table(engine, versions(engine)[0])[0], load_table(engine)[0]
    assert diff_tables(new, new, successors(engine)).changes == ()
    forth = {c.name for c in diff_tables(old, new).changes if c.area == "architecture" and c.kind == "added"}
    back = {c.name for c in diff_tables(new, old).changes if c.area == "architecture" and c.kind == "removed"}
    assert forth == back


@pytest.mark.parametrize("engine", ENGINES)
def test_the_index_says_what_the_tables_say(engine: EngineName) -> None:
    index = table_index(engine)
    newest = load_table(engine)[0]
    known = {n for n, span in index.spans["flag"].items() if span.last == len(index.versions) - 1}
    assert known == spellings(newest)
    assert index.released[-1] == newest.released


@pytest.mark.shared
@pytest.mark.parametrize("version", ["0.11.0", "0.19.1", "0.25.0", "0.33.0"])
def test_flags_equal_an_independent_scan(shared: Path, version: str) -> None:
    history: dict[str, dict[str, Any]] = json.loads((shared / "facts/engines/vllm/flags.json").read_text())["flag_history"]
    alive = {n for n, h in history.items() if within(version, h["first_seen"], h["removed_in"])}
    ours = {n for f in load_table("vllm", version)[0].flags for n in (f.name, *f.aliases)}
    # 0.11.x registers four deprecated guided-decoding flags in a loop that the other scan did not follow.
    assert {n for n in ours - alive if not n.startswith("--guided-decoding-")} == set()
    assert alive - ours == set()
