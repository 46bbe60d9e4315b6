"""vLLM's own words for number formats: sizes, quantisation, and the plain names people use."""

_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1}
_PLAIN = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32", "fp8": "fp8_e4m3"}
_ENGINE = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "half": "float16"}

MTP_METHODS = (
    "mtp",
    "deepseek_mtp",
    "qwen3_next_mtp",
    "qwen3_5_mtp",
    "glm4_moe_mtp",
    "mimo_mtp",
    "ernie_mtp",
    "longcat_flash_mtp",
    "nemotron_h_mtp",
    "step3p5_mtp",
)
"""Speculation with the model's own prediction layers, under the names of any version."""


def engine_word(word: str) -> str:
    """`bf16` -> `bfloat16`; vLLM's own words stay."""
    return _ENGINE.get(word.lower(), word)


def plain_word(cache_dtype: str, model_dtype: str) -> str:
    """What is stored, in plain words: `auto` is the model's dtype, `fp8` is e4m3."""
    word = model_dtype if cache_dtype == "auto" else cache_dtype
    return _PLAIN.get(word, word)


def itemsize(cache_dtype: str, model_dtype: str) -> int:
    """Bytes of one cached element; packed formats count in bytes."""
    word = model_dtype if cache_dtype == "auto" else cache_dtype
    return _BYTES.get(word, 1)


def quantised(cache_dtype: str) -> bool:
    """The cache is narrower than the model computes."""
    return cache_dtype not in ("auto", "float16", "bfloat16", "float32")
