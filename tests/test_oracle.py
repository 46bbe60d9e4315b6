"""What the oracle asks and how rows are compared; the engines themselves run only in its own environments."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.oracle import comparison, ours
from tools.oracle.jobs import configs, jobs, model_name


def asked(**more: Any) -> dict[str, Any]:
    return {"tp": [1, 8], "kv": ["auto", "fp8"], "mtp": [0], "keep": True, "lengths": [1024], "flags": {}, "cc": "9.0", "gpu": "h200-sxm"} | more


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "org--model.json"
    inner = {"quantization_config": {"quant_method": "fp8"}, "hidden_size": 64}
    path.write_text(json.dumps({"auto_map": {"AutoConfig": "x.Y"}, "text_config": inner, "quantization_config": {"quant_method": "fp8"}}))
    (tmp_path / "org--model_hf_quant_config.json").write_text('{"quantization": {"kv_cache_quant_algo": "FP8"}}')
    return path


def test_a_folder_gives_its_configs_and_no_quantisation_files(config: Path) -> None:
    assert configs([config.parent]) == [config]
    assert model_name(config) == "org--model"
    assert model_name(Path("a/model-x/config.json")) == "model-x"


def test_jobs_are_the_product_of_what_is_asked_and_never_run_remote_code(config: Path, tmp_path: Path) -> None:
    made = list(jobs([config], tmp_path / "kept", asked()))
    assert [(j["tp"], j["kv"]) for j in made] == [(1, "auto"), (1, "fp8"), (8, "auto"), (8, "fp8")]
    written = json.loads(Path(made[0]["folder"], "config.json").read_text())
    assert "auto_map" not in written
    assert written["quantization_config"]
    assert Path(made[0]["folder"], "hf_quant_config.json").is_file()


def test_plain_hides_the_quantisation_wherever_it_is_nested(config: Path, tmp_path: Path) -> None:
    job = next(jobs([config], tmp_path / "plain", asked(keep=False)))
    assert json.loads(Path(job["folder"], "config.json").read_text()) == {"text_config": {"hidden_size": 64}}
    assert not Path(job["folder"], "hf_quant_config.json").exists()
    assert job["row"]["quant_config_stripped"] is True


def row(**more: Any) -> dict[str, Any]:
    return {
        "model": "org--model",
        "tp": 1,
        "kv_dtype": "auto",
        "cc": "9.0",
        "num_speculative_tokens": 0,
        "quant_config_stripped": True,
        "block_size": 16,
    } | more


def test_comparison_finds_the_row_of_the_same_question_and_says_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert comparison.report("vllm", [row()], [row(model="org/model"), row(tp=8, block_size=32)]) == 0
    assert comparison.report("vllm", [row()], [row(block_size=32)]) == 1
    assert "block_size: 16 by the engine, 32 there" in capsys.readouterr().out


def test_comparing_with_nothing_is_no_success() -> None:
    assert comparison.report("vllm", [row()], []) == 1


def test_refusals_agree_whatever_their_words() -> None:
    refusal = row(error="ValueError: no")
    del refusal["block_size"]
    assert comparison.report("vllm", [refusal], [refusal | {"error": "no backend"}]) == 0
    assert comparison.report("vllm", [refusal], [row()]) == 1


def test_an_engine_argument_we_cannot_translate_is_not_dropped() -> None:
    job = {"tp": 1, "kv": "auto", "mtp": 0, "lengths": [1024], "flags": {"enable_lora": True}}
    with pytest.raises(SystemExit):
        ours.asked("vllm", job)
