"""A checkpoint saved again by transformers spells its layers in the library's words; it is the same model as the published config describes."""

import json
from pathlib import Path
from typing import Any

from serveright.types.model import Attention
from tests.families import published
from tests.families.published import read

GOLDEN = Path(__file__).parent / "golden_latent"

TYPES = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}


def load(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["config"]


def test_kimi_linear_by_layer_types():
    config = load("kimi-linear-48b-a3b-instruct")
    own = config["linear_attn_config"]
    words = ["full_attention" if i + 1 in own["full_attn_layers"] else "linear_attention" for i in range(config["num_hidden_layers"])]
    saved = {key: value for key, value in config.items() if key != "linear_attn_config"}
    saved |= {"layer_types": words, "linear_num_heads": own["num_heads"], "linear_head_dim": own["head_dim"]}
    saved |= {"linear_conv_kernel_dim": own["short_conv_kernel_size"]}
    assert read(saved).layers == read(config).layers
    assert read(saved).weights == read(config).weights


def test_deepseek_v4_by_layer_types():
    config = load("deepseek-v4-flash")
    count = config["num_hidden_layers"]
    saved = {key: value for key, value in config.items() if key not in ("compress_ratios", "num_hash_layers")}
    saved |= {"layer_types": [TYPES[ratio] for ratio in config["compress_ratios"][:count]]}
    saved |= {"compress_rates": {word: ratio for ratio, word in TYPES.items() if ratio}}
    saved |= {"mlp_layer_types": ["hash_moe"] * config["num_hash_layers"] + ["moe"] * (count - config["num_hash_layers"])}
    assert read(saved).layers == read(config).layers
    assert read(saved).weights == read(config).weights


def test_mimo_v2_by_layer_types():
    config = published.load("XiaomiMiMo--MiMo-V2-Flash")["config"]
    words = ["sliding_attention" if mark else "full_attention" for mark in config["hybrid_layer_pattern"]]
    dropped = ("hybrid_layer_pattern", "swa_num_key_value_heads", "add_swa_attention_sink_bias", "sliding_window_size")
    saved = {key: value for key, value in config.items() if key not in dropped} | {"layer_types": words}
    rows = [(m.kind, m.kv_heads, m.head_dim, m.sinks) for layer in read(saved).layers for m in layer.mixers if isinstance(m, Attention)]
    assert rows == [(m.kind, m.kv_heads, m.head_dim, m.sinks) for layer in read(config).layers for m in layer.mixers if isinstance(m, Attention)]


def test_nemotron_h_by_the_words_of_all_hybrids():
    letters = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
    config = load("nvidia-nemotron-3-nano-30b-a3b-bf16")
    words = [letters[letter] for letter in config["hybrid_override_pattern"]]
    saved = {key: value for key, value in config.items() if key != "hybrid_override_pattern"} | {"layers_block_type": words}
    assert read(saved).layers == read(config).layers
