"""Number formats by name, with their scales, as checkpoints store them. Sources: safetensors headers of public checkpoints and the loaders of vLLM 0.33.0."""

from serveright.types.model import NumberFormat

FP8_TENSOR = NumberFormat(name="fp8", bits=8, global_scale_bits=64, activation_bits=8)
"""One float32 scale for the weight and one for its input."""
FP8_CHANNEL = NumberFormat(name="fp8", bits=8, group=-1, scale_bits=32, activation_bits=8)
NVFP4 = NumberFormat(name="nvfp4", bits=4, group=16, scale_bits=8, global_scale_bits=64, activation_bits=4)
NVFP4_WEIGHT_ONLY = NumberFormat(name="nvfp4", bits=4, group=16, scale_bits=8, global_scale_bits=32)
MXFP4 = NumberFormat(name="mxfp4", bits=4, group=32, scale_bits=8)
MXFP8 = NumberFormat(name="mxfp8", bits=8, group=32, scale_bits=8, activation_bits=8)

DTYPE_BITS = {"bfloat16": 16, "float16": 16, "half": 16, "bf16": 16, "fp16": 16, "float32": 32, "float": 32, "fp32": 32, "float64": 64}
"""Bits of a dtype word; float8 words are looked up by prefix."""
SHORT = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32", "float64": "fp64"}


def plain(dtype: str) -> NumberFormat:
    """Unquantised numbers of a dtype word; an unknown word counts as 16 bits (the reader reports it)."""
    word = dtype.removeprefix("torch.")
    if word.startswith(("float8", "fp8")):
        return NumberFormat(name="fp8", bits=8, activation_bits=8)
    return NumberFormat(name=SHORT.get(word, word), bits=DTYPE_BITS.get(word, 16), activation_bits=DTYPE_BITS.get(word, 16))


def known_dtype(dtype: str) -> bool:
    """Whether `plain` knows the word."""
    word = dtype.removeprefix("torch.")
    return word in DTYPE_BITS or word.startswith(("float8", "fp8"))


def fp8_block(rows: int, columns: int, scale_bits: int = 32) -> NumberFormat:
    """One scale per `rows` x `columns` tile: float32 for most, 8 bits where the scales themselves are UE8M0."""
    return NumberFormat(name="fp8", bits=8, block=(rows, columns), scale_bits=scale_bits, activation_bits=8)


def integer(bits: int, group: int, *, zero: bool, activation_bits: int = 16, scale_bits: int = 16) -> NumberFormat:
    """Integers with one 16-bit scale per group, and a zero point of `bits` where the format is not symmetric."""
    return NumberFormat(name=f"int{bits}", bits=bits, group=group, scale_bits=scale_bits, zero_bits=bits if zero else 0, activation_bits=activation_bits)
