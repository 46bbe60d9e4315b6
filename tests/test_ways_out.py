"""What is said when a request does not fit: figures of what was tried, and nothing where nobody can know."""

import json
from pathlib import Path

from serveright.api.sizing import size
from serveright.outputs.language import render
from serveright.outputs.text import Options, document
from serveright.outputs.views.size import document as view

ODD = {
    "architectures": ["NobodyKnowsForCausalLM"],
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 2048,
    "vocab_size": 1000,
    "layer_types": ["weird"] * 4,
    "max_position_embeddings": 8192,
}


def test_unknown_layers_have_no_size(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(ODD))
    report = size(str(tmp_path), "1xh200")
    assert report.unknown_layers == 4
    text = document(view(report), Options(lang="en"))
    assert "unknown: nobody here knows 4" in text
    assert "too large" not in text
    assert "charged" not in text


def test_narrow_rows_that_do_not_suffice_are_told_with_figures() -> None:
    report = size("zai-org/GLM-5.2-FP8", "8xh200", engine="vllm", context_tokens=1_000_000)
    told = [render(way, "en") for way in report.ways_out]
    assert any("656-byte" in way and "50.2 GiB" in way and "88.2 GiB" in way for way in told)
    assert any("354,304 tokens" in way for way in told)


def test_weights_alone_too_large() -> None:
    report = size("zai-org/GLM-5.2-FP8", "2xh200", engine="vllm", context_tokens=8192)
    assert any("the weights alone are too large" in render(way, "en") for way in report.ways_out)


def test_a_quantised_checkpoint_is_a_way_out_where_none_is_at_hand() -> None:
    plain = [render(way, "en") for way in size("meta-llama/Llama-3.3-70B-Instruct", "2xh100", engine="vllm", context_tokens=32_768).ways_out]
    assert any("a checkpoint in fp8" in way and "GiB of weights a GPU" in way for way in plain)
    quantised = size("zai-org/GLM-5.2-FP8", "2xh200", engine="vllm", context_tokens=8192)
    assert not any("a checkpoint in" in render(way, "en") for way in quantised.ways_out)
