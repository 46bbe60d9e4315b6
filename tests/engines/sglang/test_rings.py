"""Rows of a compressor's ring for each request: kernels/ops/attention/dsv4 get_compress_state_ring_size of SGLang 0.5.23, by hand."""

import pytest

from serveright.engines.sglang.v4 import _ring


@pytest.mark.parametrize(
    ("ratio", "drafts", "rows"), [(4, 0, 8), (4, 3, 16), (128, 0, 128), (128, 3, 256), (2, 0, 2), (2, 1, 4), (2, 2, 4), (2, 3, 8), (2, 7, 16)]
)
def test_a_ring_holds_its_ratio_and_the_drafts(ratio: int, drafts: int, rows: int) -> None:
    assert _ring(ratio, drafts) == rows
