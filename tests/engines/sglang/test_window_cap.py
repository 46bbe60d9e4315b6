"""Window tokens that running requests hold, worked out by hand from SGLang 0.5.23: pool_configurator.py:924, mem_cache/allocation_sizing.py:28, utils/common.py:4424."""

import pytest

from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour
from serveright.engines.sglang.args import given
from serveright.engines.sglang.decide import situation
from serveright.engines.sglang.window import request_cap
from serveright.types.engine import Parallel, Settings
from tests.engines.sglang.models import PLAIN, full, model

WINDOW, EVICTED = 1000, 128
AT = situation(model(full(), full(window=WINDOW), architecture="GptOssForCausalLM"), PLAIN, load_gpu("h200-sxm"), load_sglang_behaviour("0.5.23"))


def cap(seqs: int = 4, page: int = 64, chunk: int = 8192, *, dp: int = 1, overlap: bool = True, **flags: str) -> int:
    extra = {name.replace("_", "-"): value for name, value in flags.items()}
    asked = Settings(parallel=Parallel(dp=dp), max_num_seqs=seqs, block_tokens=page, token_budget=chunk, async_scheduling=overlap, extra=extra)
    return request_cap(given(asked, AT.seen), AT, WINDOW)


def eagle(steps: int, topk: int, drafts: int) -> dict[str, str]:
    numbers = {"speculative_num_steps": steps, "speculative_eagle_topk": topk, "speculative_num_draft_tokens": drafts}
    return {"speculative_algorithm": "EAGLE", **{name: str(number) for name, number in numbers.items()}}


LIVE = WINDOW + EVICTED + 64


def test_each_request_holds_its_window_what_waits_for_eviction_and_a_page_to_decode_into() -> None:
    assert cap() == 4 * (LIVE + 64) + 2 * 8192 + 64
    assert cap(overlap=False) == 4 * (LIVE + 64) + 8192 + 64


def test_attention_ranks_share_the_requests_and_none_holds_less_than_one() -> None:
    assert cap(seqs=8, dp=2) == cap(seqs=4)
    assert cap(seqs=1, dp=4) == cap(seqs=1)


@pytest.mark.parametrize(
    ("steps", "topk", "drafts", "page", "decode"),
    [
        (3, 1, 4, 64, 2 * 4),  # a chain: no pages are rounded up while batches overlap
        (5, 1, 4, 64, 2 * 5),
        (3, 4, 8, 1, 2 * 12),
        (3, 4, 8, 64, 2 * 4 * 128),  # a tree: every branch may break into 63 + 3 tokens, two pages
        (1, 2, 300, 64, 2 * 300),
    ],
)
def test_drafts_while_batches_overlap(steps: int, topk: int, drafts: int, page: int, decode: int) -> None:
    live = WINDOW + EVICTED * drafts + page
    assert cap(page=page, **eagle(steps, topk, drafts)) == 4 * (live + decode) + 2 * 8192 + page


@pytest.mark.parametrize(
    ("steps", "topk", "drafts", "page", "decode"),
    [(3, 1, 4, 64, 64), (65, 1, 4, 64, 128), (3, 4, 8, 64, 4 * 128), (3, 4, 8, 1, 12), (3, 1, 70, 64, 128), (2, 1, 7, 1, 7)],
)
def test_drafts_one_batch_after_the_other(steps: int, topk: int, drafts: int, page: int, decode: int) -> None:
    live = WINDOW + EVICTED * drafts + page
    assert cap(page=page, overlap=False, **eagle(steps, topk, drafts)) == 4 * (live + decode) + 8192 + page


def test_a_decode_worker_keeps_room_for_requests_that_arrive() -> None:
    assert cap(disaggregation_mode="decode") == 4 * (LIVE + 64) + 8 * (WINDOW + 64)
    assert cap(seqs=32, disaggregation_mode="decode") == 32 * (LIVE + 64) + 64 * (WINDOW + 64)
    assert cap(seqs=33, disaggregation_mode="decode") == 33 * (LIVE + 64)
    assert cap(disaggregation_mode="decode", disaggregation_decode_extra_slots="3") == 4 * (LIVE + 64) + 3 * (WINDOW + 64)
