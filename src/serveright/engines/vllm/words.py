"""vLLM's own words for number formats: sizes, quantisation, and the plain names people use."""

_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1}
_PLAIN = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32", "fp8": "fp8_e4m3"}
_ENGINE = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "half": "float16", "float": "float32"}
MODEL_DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")
"""What `--dtype` takes: number types of activations, no storage formats."""

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
    "dots3_note_mtp",
    "mimo_v2_mtp",
    "glm4_moe_lite_mtp",
    "glm_ocr_mtp",
    "exaone_moe_mtp",
    "exaone4_5_mtp",
    "qwen4_exp_mtp",
    "bailing_hybrid_v3_mtp",
    "minimax_m3_mtp",
    "bailing_hybrid_mtp",
    "kimi_k3_mtp",
    "pangu_ultra_moe_mtp",
    "step5_mtp",
    "hy_v3_mtp",
    "hy_v4_mtp",
    "gemma4_mtp",
    "inkling_mtp",
    "glm5_next_mtp",
)
"""Speculation with the model's own prediction layers, under the names of any version."""


def engine_word(word: str) -> str:
    """`bf16` -> `bfloat16`; vLLM's own words stay."""
    return _ENGINE.get(word.lower(), word)


def model_dtype(asked: str, config: str, sm: int) -> str:
    """What the model computes in: the flag, else the config's type, float32 and what the device lacks turned to 16 bits (config/model.py _resolve_auto_dtype).

    A word `--dtype` does not take counts as unset: the engine stops at it before it asks anything else.
    """
    if asked in MODEL_DTYPES and asked != "auto":
        return engine_word(asked)
    half = "float16" if 0 < sm < 80 else "bfloat16"
    own = engine_word(config)
    return half if own == "float32" or (own == "bfloat16" and half != own) else own


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
