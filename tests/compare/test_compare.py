"""`compare` under the same conditions: figures from configs, and rows that follow when one field changes."""

import json

import msgspec
import pytest

from serveright import api
from serveright.catalog.models import find
from serveright.errors import UserError
from serveright.outputs import json as as_json
from serveright.types.choosing import CompareReport, CompareRow
from serveright.types.traffic import Traffic

FOUR = ("Qwen/Qwen3.6-27B", "deepseek-ai/DeepSeek-V3", "zai-org/GLM-5.2", "Qwen/Qwen3.5-397B-A17B")
SAME = Traffic(concurrency=100, input_tokens=(32000, 32000), output_tokens=(768, 768))


@pytest.fixture(scope="module")
def report() -> CompareReport:
    return api.compare(FOUR, ("8xh200",), SAME)


def row(report: CompareReport, item: str) -> CompareRow:
    return next(r for r in report.rows if r.item == item)


def test_same_conditions_caches_by_hand(report: CompareReport) -> None:
    per_token = row(report, "cache_per_token").figures
    assert per_token["deepseek-ai/DeepSeek-V3"] == 61 * (512 + 64) * 2
    assert per_token["zai-org/GLM-5.2"] == 78 * (512 + 64) * 2 + 21 * 128 * 2
    assert per_token["Qwen/Qwen3.6-27B"] == 16 * 4 * (256 + 256) * 2
    assert per_token["Qwen/Qwen3.5-397B-A17B"] == 15 * 2 * (256 + 256) * 2


def test_every_row_answers_for_every_column(report: CompareReport) -> None:
    items = [r.item for r in report.rows]
    assert {"reduced", "cache_per_token", "length", "homogeneity", "parallelism", "kernels", "prefix", "hardware", "difficulty", "given_up"} <= set(items)
    assert {"memory", "users", "ttft", "tpot", "cost", "flags"} <= set(items)
    assert all(set(r.values) == set(report.columns) for r in report.rows)


def test_given_up_follows_the_layers(report: CompareReport) -> None:
    given = {name: json.dumps(as_json.plain(value, "en")) for name, value in row(report, "given_up").values.items()}
    assert "indexer misses" in given["zai-org/GLM-5.2"]
    assert "exact retrieval" in given["Qwen/Qwen3.6-27B"]
    assert "indexer" not in given["deepseek-ai/DeepSeek-V3"]
    assert "retrieval" not in given["deepseek-ai/DeepSeek-V3"]


def test_where_arithmetic_contradicts_the_rule_it_is_said(report: CompareReport) -> None:
    said = [as_json.plain(v, "en") for v in report.verdicts]
    assert any("saves reading, not room" in text and "GLM-5.2" in text for text in said)
    assert any("lighter one at batch 1" in text for text in said)


def test_the_checkpoint_is_chosen_with_the_gpu(report: CompareReport) -> None:
    assert "FP8" in as_json.plain(row(report, "checkpoint").values["zai-org/GLM-5.2"], "en")
    assert row(report, "users").figures["zai-org/GLM-5.2"] is not None


def test_sharing_no_picks_makes_the_keys_dearer() -> None:
    base = find("zai-org/GLM-5.2")
    assert base is not None
    alone = {k: v for k, v in base.config.items() if not k.startswith("index") or k in ("index_topk", "index_head_dim", "index_n_heads")}
    report = api.compare((base, msgspec.structs.replace(base, id="me/own-keys", config=alone)), ("8xb200",), SAME)
    figures = row(report, "cache_per_token").figures
    assert (figures["me/own-keys"] or 0) - (figures["zai-org/GLM-5.2"] or 0) == (78 - 21) * 128 * 2


def test_one_model_on_several_gpus_and_versions() -> None:
    gpus = api.compare(("Qwen/Qwen3-32B",), ("2xh100", "2xb200"), SAME)
    assert len(gpus.columns) == 2
    rate = row(gpus, "throughput").figures
    assert (rate[gpus.columns[1]] or 0) > (rate[gpus.columns[0]] or 0)
    versions = api.compare(("zai-org/GLM-5.2",), ("8xrtx-pro-6000",), SAME, engines=("vllm@0.23.0", "vllm@0.33.0"))
    kernels = {name: as_json.plain(v, "en") for name, v in row(versions, "kernels").values.items()}
    assert "blocked" in kernels[versions.columns[0]]
    assert "blocked" not in kernels[versions.columns[1]]


def test_a_single_column_is_refused() -> None:
    with pytest.raises(UserError):
        api.compare(("Qwen/Qwen3-32B",), ("8xh200",), SAME)
