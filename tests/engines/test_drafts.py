"""Draft models of their own: both engines' own sizing code on a target with a draft beside it, what a head weighs, and what is said where its config is not at hand.

The rows were made by `python tools/oracle` with the draft in `--flag speculative_config=...` (vLLM) or `speculative_draft_model_path` (SGLang), 2026-11-29.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from serveright.api.drafts import draft_of
from serveright.api.engines import load_engines
from serveright.api.loading import load_model
from serveright.api.sized import size_on, weights_on
from serveright.catalog.gpus import load_gpu, parse_gpu_spec
from serveright.catalog.sglang import load_sglang_behaviour
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.cli.traffic_options import draft_settings
from serveright.engines.sglang import layout
from serveright.engines.sglang.decide import decide, situation
from serveright.engines.sglang.pool import fill
from serveright.engines.vllm.plan import plan
from serveright.errors import UsageError
from serveright.families.drafts import as_held
from serveright.families.read import read_model
from serveright.types.engine import Parallel, Settings
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.source import ModelFiles
from tests.engines.vllm.oracle import answer

DRAFTS: dict[str, Any] = json.loads(Path(__file__).with_name("drafts.json").read_text(encoding="utf-8"))
GPU = load_gpu(DRAFTS["gpu"])
REST_GIB = 40.0


def _name(row: dict[str, Any]) -> str:
    return f"{row['target']} {row['draft']} tp{row['tp']} {row['kv']}"


def _read(kind: str, name: str) -> ModelShape:
    return read_model(ModelFiles(id=name, origin=name, config=DRAFTS[kind][name]))


def _pair(row: dict[str, Any]) -> tuple[ModelShape, ModelShape]:
    target = _read("targets", row["target"])
    return target, as_held(_read("drafts", row["draft"]), DRAFTS["drafts"][row["draft"]], row["method"], target)


def _plain(shape: ModelShape) -> Checkpoint:
    return Checkpoint(method="none", format="bf16", dtype=shape.dtype)


@pytest.mark.parametrize("row", DRAFTS["rows"]["vllm"], ids=_name)
def test_vllm_allocates_the_same(row: dict[str, Any]) -> None:
    target, draft = _pair(row)
    asked = Settings(
        parallel=Parallel(tp=row["tp"]), context_tokens=131072, kv_dtype=row["kv"], speculative_method=row["method"], speculative_tokens=row["tokens"]
    )
    found = answer(plan(target, _plain(target), GPU, load_vllm_behaviour(DRAFTS["versions"]["vllm"]), asked, draft))
    assert {key: found[key] for key in row["answer"]} == row["answer"]


@pytest.mark.parametrize("row", DRAFTS["rows"]["sglang"], ids=_name)
def test_sglang_allocates_the_same(row: dict[str, Any]) -> None:
    target, draft = _pair(row)
    kv = None if row["kv"] == "auto" else row["kv"]
    asked = Settings(parallel=Parallel(tp=row["tp"]), kv_dtype=kv, speculative_method=row["method"], speculative_tokens=row["tokens"])
    behaviour = load_sglang_behaviour(DRAFTS["versions"]["sglang"])
    at = situation(target, _plain(target), GPU, behaviour, draft)
    args = decide(at, asked)
    pool = fill(args, at, REST_GIB)
    lay = layout(target, _plain(target), GPU, behaviour, asked, draft)
    found = {"bytes_per_token": lay.pool_bytes_per_token, "page": args.page, "mem_fraction": args.mem_fraction, "tokens": pool.tokens, "running": pool.running}
    assert found == row["answer"]


def test_a_block_drafts_rows_are_sized_by_its_own_heads_beside_latent_rows() -> None:
    """SGLang 0.5.23 speculative/dflash_utils.py: 8 heads over 8 ranks, (128 + 128) values, 5 layers, 2 bytes, beside 61 rows of 576."""
    target = _read("targets", "Kimi-K2.6")
    asked = Settings(parallel=Parallel(tp=8), speculative_method="dflash", speculative_tokens=0)
    behaviour = load_sglang_behaviour(DRAFTS["versions"]["sglang"])
    lay = layout(target, _plain(target), GPU, behaviour, asked, _read("drafts", "dflash"))
    assert lay.pool_bytes_per_token == 61 * 576 * 2 + 1 * 256 * 5 * 2


@pytest.mark.parametrize(
    ("draft", "method", "elements"),
    [
        # q, k, v of 2 x 4096 inputs, o, the MLP, three norms' place is the reader's own, fc of three layers, a head of 32,000 rows
        ("eagle3", "eagle3", 2 * 4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336 + 3 * 4096 * 4096 + 32000 * 4096),
        ("dflash", "dflash", 5 * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 12288) + 5 * 4096 * 4096),
    ],
)
def test_a_head_borrows_tables_and_brings_its_own_projection(draft: str, method: str, elements: int) -> None:
    """vLLM 0.33.0 models/llama_eagle3.py, qwen3_dflash.py: the tables are the target's."""
    target = _read("targets", "Llama-3.1-8B-Instruct" if draft == "eagle3" else "Qwen3-8B")
    held = as_held(_read("drafts", draft), DRAFTS["drafts"][draft], method, target)
    assert sum(w.elements for w in held.weights if w.linear and w.part != "embed") == elements
    assert any(w.part == "embed" for w in held.weights) is (held.vocab != target.vocab)


def test_a_whole_draft_keeps_all_its_tensors() -> None:
    shape = _read("drafts", "qwen")
    assert as_held(shape, DRAFTS["drafts"]["qwen"], "draft_model", _read("targets", "Qwen3-8B")) is shape


@pytest.mark.parametrize(("engine", "word", "flag"), [("vllm", "eagle3", "speculative-model"), ("sglang", "EAGLE3", "speculative-draft-model-path")])
def test_a_draft_at_hand_is_counted_in_weights_and_cache(tmp_path: Path, engine: str, word: str, flag: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(DRAFTS["drafts"]["eagle3"]))
    model, (served,) = load_model("meta-llama/Llama-3.1-8B-Instruct"), load_engines(engine)
    fleet = parse_gpu_spec("h200-sxm", 1, None)
    asked = Settings(parallel=Parallel(tp=1), speculative_method=word, speculative_tokens=3, extra={flag: str(tmp_path)})
    alone = size_on(served, model, fleet, replace(asked, extra={}, speculative_method=None, speculative_tokens=0), 8192)
    sized = size_on(served, model, fleet, asked, 8192)
    draft = draft_of(model, asked)
    assert draft is not None
    assert sized.memory.weights_bytes - alone.memory.weights_bytes == draft.need.total_bytes
    assert sized.layout.padded_bytes_per_token - alone.layout.padded_bytes_per_token == 2 * 8 * 128 * 2
    assert "drafts:" in sized.resolved.choices[-1].template
    assert draft_of(model, asked, local=False) is None, "no path is looked at for strangers' texts"


@pytest.mark.parametrize(("engine", "flag"), [("vllm", "speculative-model"), ("sglang", "speculative-draft-model-path")])
def test_a_draft_nobody_has_widens_the_range_and_is_named(engine: str, flag: str) -> None:
    model, (served,) = load_model("meta-llama/Llama-3.1-8B-Instruct"), load_engines(engine)
    fleet = parse_gpu_spec("h200-sxm", 1, None)
    asked = Settings(parallel=Parallel(tp=1), speculative_method="eagle3", speculative_tokens=3, extra={flag: "somebody/unheard-of-head"})
    sized, silent = size_on(served, model, fleet, asked, 8192), size_on(served, model, fleet, replace(asked, extra={}), 8192)
    assert sized.resolved.choices[-1].values["draft"] == "somebody/unheard-of-head"
    assert sized.memory.kv_pool_bytes == silent.memory.kv_pool_bytes
    assert sized.memory.kv_pool_range is not None
    assert silent.memory.kv_pool_range is not None
    assert sized.memory.kv_pool_range[0] < silent.memory.kv_pool_range[0]


@pytest.mark.parametrize("method", ["mtp", "deepseek_mtp", "EAGLE", "NEXTN"])
def test_own_prediction_layers_are_weighed_in_both_engines_words(method: str) -> None:
    model = load_model("deepseek-ai/DeepSeek-V3")
    asked = Settings(parallel=Parallel(tp=8), speculative_method=method, speculative_tokens=1)
    assert weights_on(model, asked) == weights_on(model, replace(asked, speculative_method="mtp"))
    assert sum(weights_on(model, asked).values()) > sum(weights_on(model, replace(asked, speculative_method="ngram")).values())


def test_the_options_name_the_draft_in_both_engines_words() -> None:
    assert draft_settings(None, None, 2) == {"speculative_method": "mtp", "speculative_tokens": 2}
    assert draft_settings(None, None, 0) == {"speculative_method": None, "speculative_tokens": 0}
    said = draft_settings("some/head", "eagle3", 3)
    assert (said["speculative_method"], set(said["extra"].values())) == ("eagle3", {"some/head"})


@pytest.mark.parametrize(("model", "method", "tokens"), [(None, "eagle3", 3), ("some/head", None, 0)])
def test_half_said_drafts_are_refused(model: str | None, method: str | None, tokens: int) -> None:
    with pytest.raises(UsageError):
        draft_settings(model, method, tokens)
