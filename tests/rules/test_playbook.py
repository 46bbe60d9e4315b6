"""The inherited command of the playbook gets every question answered; old words are judged against the version they run on."""

import pytest

from serveright.outputs.language import render
from serveright.readers.lore import load_lore
from serveright.rules.explain import explain
from serveright.rules.migrate import Migration, migrate
from serveright.rules.run import audit_command
from serveright.types.engine_table import EngineName
from tests.rules.bench import command_of, context_of, table_of

COMMAND = (
    "python3 -m sglang.launch_server --model nvidia/GLM-5.2-NVFP4 --tensor-parallel-size 8 --quantization modelopt_fp4 --tool-call-parser glm47 "
    "--reasoning-parser glm45 --chunked-prefill-size 16384 --mem-fraction-static 0.80"
)


def found(command: str, gpu: str = "", version: str | None = None) -> dict[str, str]:
    return {finding.code: render(finding.message, "en") + " " + render(finding.why, "en") for finding in audit_command(context_of(command, gpu, version))}


def test_the_three_classics() -> None:
    experts = found(COMMAND, "8xb200")
    assert "GiB a GPU either way" in experts["PAR07"]
    assert "256-wide slice of all 256 experts" in experts["PAR07"]
    forced = found(COMMAND + " --kv-cache-dtype fp8_e4m3", "8xh200")["KV05"]
    assert "656-byte" in forced
    assert "1152-byte" in forced
    assert "flashmla_kv" in forced
    assert "PARSE01" in found(COMMAND.replace("--tool-call-parser glm47 ", ""), "8xb200")
    assert "576-byte" in experts["KV05"]


def test_every_flag_and_every_absent_one_is_explained() -> None:
    context = context_of(COMMAND, "8xb200")
    told = explain(context)
    present = {choice.flag: render(choice.why, "en") for choice in told.present}
    absent = {left.flag: render(left.why, "en") for left in told.absent}
    assert set(present) == {flag.written for flag in context.command.flags}
    assert "with 0.86" in present["--mem-fraction-static"]
    assert "glm47" in present["--tool-call-parser"]
    assert "glm45" in present["--reasoning-parser"]
    assert "576-byte" in absent["--kv-cache-dtype"]
    assert "trtllm" in absent["--attention-backend"]
    assert {"--ep-size", "--moe-runner-backend", "--page-size", "--dtype"} <= set(absent)


OLD = [
    ("vllm serve m --enable-moe-ep", "VER01", "never a flag"),
    ("python -m sglang.launch_server --model-path m --enable-moe-ep", "VER01", "never a flag"),
    ("python -m sglang.launch_server --model-path m --enable-flashinfer-mla", "VER01", "left sglang after 0.4.7"),
    ("vllm serve m --dtype fp8", "VER05", "not a choice"),
    ("vllm serve m --eplb-algorithm deepseek", "VER01", "is sglang's, not vllm's"),
    ("vllm serve m --ep-num-redundant-experts 32", "VER01", "is sglang's, not vllm's"),
    ("python -m sglang.launch_server --model-path m --mm-processor-cache-type shm", "VER01", "is vllm's, not sglang's"),
    ('vllm serve m --speculative-config \'{"method":"qwen3_next_mtp","num_speculative_tokens":2}\'', "VER08", "read as mtp"),
    ("vllm serve m --swap-space 4", "VER01", "left vllm after 0.17"),
]


@pytest.mark.parametrize(("command", "code", "words"), OLD, ids=[command[-40:] for command, _, _ in OLD])
def test_words_of_old_recipes(command: str, code: str, words: str) -> None:
    assert words in found(command)[code]


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m --mm-processor-cache-type shm",
        "python -m sglang.launch_server --model-path m --tp 2 --ep 2 --enable-eplb --eplb-algorithm deepseek --ep-num-redundant-experts 32",
    ],
)
def test_words_that_are_valid(command: str) -> None:
    assert not {"VER01", "VER05"} & set(found(command))


def moved(command: str, engine: EngineName, version: str | None = None) -> Migration:
    read = command_of(command, version)
    return migrate(read, table_of(read.engine, read.engine_version), table_of(engine, None), load_lore())


def words(migration: Migration) -> str:
    return " ".join(choice.flag + (f" {choice.value}" if choice.value else "") for choice in migration.launch.flags)


def test_layout_and_parsers_cross_the_engines_and_come_back() -> None:
    there = moved("vllm serve m -tp 2 -dp 4 --enable-expert-parallel --enable-auto-tool-choice --tool-call-parser hermes --no-enable-prefix-caching", "sglang")
    assert words(there) == "--tp-size 8 --attn-dp-size 4 --ep-size 8 --tool-call-parser qwen25 --disable-radix-cache"
    back = moved(f"sglang serve --model-path m {words(there)}", "vllm")
    assert (
        words(back)
        == "--tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel --tool-call-parser hermes --enable-auto-tool-choice --no-enable-prefix-caching"
    )


def test_what_has_no_equivalent_is_listed() -> None:
    migration = moved("VLLM_ATTENTION_BACKEND=X vllm serve m --swap-space 3 --task generate --num-redundant-experts 2", "vllm", "0.10.0")
    assert {lost.name for lost in migration.lost} == {"--swap-space", "--task", "VLLM_ATTENTION_BACKEND"}
    assert words(migration) == "--eplb-config.num_redundant_experts 2"
    assert any("0.92" in str(note.values.get("new")) for note in migration.notes)


def test_a_share_that_counts_other_things_is_noted() -> None:
    migration = moved("python -m sglang.launch_server --model-path m --mem-fraction-static 0.80", "vllm")
    assert words(migration) == "--gpu-memory-utilization 0.80"
    assert [note.values["to"] for note in migration.notes] == ["--gpu-memory-utilization"]


@pytest.mark.parametrize(
    ("command", "engine", "expected"),
    [
        ("sglang serve --model-path m --tp 8 --enable-ep-moe", "vllm", "--tensor-parallel-size 8 --enable-expert-parallel"),
        ("sglang serve --model-path m --tp 8 --enable-moe-ep", "vllm", "--tensor-parallel-size 8 --enable-expert-parallel"),
        ("vllm serve m -tp 2 --enable-moe-ep", "sglang", "--tp-size 2 --ep-size 2"),
        ("vllm serve m --port 1", "sglang", "--port 1"),
    ],
)
def test_old_switches_and_single_gpus(command: str, engine: EngineName, expected: str) -> None:
    migration = moved(command, engine)
    assert words(migration) == expected
    assert not migration.lost


@pytest.mark.parametrize(("checkpoint", "expected"), [("modelopt", ""), ("none", "--quantization modelopt_fp4"), (None, "--quantization modelopt_fp4")])
def test_a_format_the_checkpoint_says_itself_is_left_out(checkpoint: str | None, expected: str) -> None:
    read = command_of("sglang serve --model-path m --quantization modelopt_fp4", None)
    migration = migrate(read, table_of("sglang", None), table_of("vllm", None), load_lore(), checkpoint)
    assert words(migration) == expected
    assert bool(migration.notes) == (not expected)


def test_a_checkpoint_that_may_not_think_is_no_warning() -> None:
    [finding] = [f for f in audit_command(context_of("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct")) if f.code == "PARSE04"]
    assert (finding.severity, finding.confidence) == ("note", "possible")
    assert not finding.edits


def test_a_flag_that_changes_nothing_is_told_so() -> None:
    told = explain(context_of("vllm serve Qwen/Qwen3-8B --kv-cache-dtype auto --max-num-batched-tokens 8192 --attention-backend FLASH_ATTN", "1xh200"))
    for choice in told.present:
        if choice.flag.startswith("--"):
            assert "no difference" in render(choice.why, "en"), choice.flag


def test_one_wrong_value_is_one_finding() -> None:
    assert "VER05" in found("vllm serve Qwen/Qwen3-8B --dtype fp8", "1xh200")
    assert "ENG01" not in found("vllm serve Qwen/Qwen3-8B --dtype fp8", "1xh200")


def test_expert_parallelism_of_a_dense_model_is_refused_and_never_advised() -> None:
    refused = found("vllm serve Qwen/Qwen3-8B -tp 2 --enable-expert-parallel", "2xh200")
    assert "Number of experts in the model must be greater than 0" in refused["ENG01"]
    hits = [f for f in audit_command(context_of("vllm serve Qwen/Qwen3-32B -tp 16", "16xh200")) if f.code == "PAR05"]
    assert hits
    assert hits[0].fix is not None
    assert "--enable-expert-parallel" not in render(hits[0].fix, "en")


def test_a_layout_that_does_not_divide_gets_no_advice_built_on_it() -> None:
    codes = found("vllm serve google/gemma-4-26B-A4B-it -tp 7", "8xh200")
    assert "PAR01" in codes
    assert not {"PAR05", "PAR07"} & codes.keys()


def test_the_nearest_choice_begins_alike() -> None:
    hits = [f for f in audit_command(context_of("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --kv-cache-dtype fp8")) if f.code == "VER05"]
    assert hits
    assert hits[0].fix is not None
    assert hits[0].fix.values["name"] == "fp8_e4m3"


def test_a_share_is_left_out_only_where_the_engines_own_leaves_a_cache() -> None:
    base = "python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp 8 --mem-fraction-static 0.97"
    for more, chunk in (("", False), (" --chunked-prefill-size 131072", True)):
        fixes = [render(f.fix, "en") for f in audit_command(context_of(base + more, "8xh200")) if f.code in ("MEM04", "MEM06") and f.fix]
        assert fixes
        assert all(("--chunked-prefill-size" in fix) == chunk for fix in fixes)
