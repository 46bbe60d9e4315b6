"""The routed experts' number format in the words of the kernel table: what the checkpoint says of the experts, else its one format, else nothing."""

import pytest
from msgspec.structs import replace

from serveright.engines.vllm.moe import UNQUANTISED, expert_format
from serveright.types.model import Checkpoint, FormatRule, NumberFormat

FP8 = NumberFormat(name="fp8_e4m3", bits=8)
BLOCK, CHANNEL, TENSOR = (replace(FP8, block=(128, 128)), replace(FP8, group=-1), FP8)
INT4, MXFP4 = NumberFormat(name="int4", bits=4, group=128), NumberFormat(name="mxfp4", bits=4, group=32)


def checkpoint(*rules: tuple[str, NumberFormat | None], method: str = "fp8") -> Checkpoint:
    return Checkpoint(
        method=method, format=method, dtype="bfloat16", rules=tuple(FormatRule(patterns=("*",), target=target, format=form) for target, form in rules)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "word"), [(BLOCK, "fp8_block"), (CHANNEL, "fp8_channel"), (TENSOR, "fp8"), (INT4, "int4"), (NumberFormat(name="nvfp4", bits=4, group=16), "nvfp4")]
)
def test_a_format_in_the_tables_words(form: NumberFormat, word: str) -> None:
    assert expert_format(checkpoint(("experts", form))) == word


def test_rules_for_the_experts_win_and_mixtures_without_them_say_nothing() -> None:
    assert expert_format(checkpoint()) == UNQUANTISED
    assert expert_format(checkpoint(("linear", BLOCK), ("experts", INT4))) == "int4"
    assert expert_format(checkpoint(("linear", BLOCK), ("path", None))) == "fp8_block"
    assert expert_format(checkpoint(("linear", BLOCK), ("path", INT4))) is None


def test_mxfp4_by_its_own_method_is_named_apart() -> None:
    assert expert_format(checkpoint(("experts", MXFP4), method="mxfp4")) == "mxfp4_mxfp4"
    assert expert_format(checkpoint(("experts", MXFP4), method="compressed-tensors")) == "mxfp4"
