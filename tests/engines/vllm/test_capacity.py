"""The engine's own lines and refusals about capacity, by version."""

from msgspec.structs import replace

from serveright.catalog.vllm import load_vllm_behaviour, load_vllm_memory
from serveright.engines.vllm.capacity import capacity
from serveright.engines.vllm.plan import Plan, plan
from serveright.types.engine import MemorySplit, Parallel, Settings
from serveright.units import GIB
from tests.engines.vllm.models import PLAIN, full, latent, model
from tests.engines.vllm.oracle import gpu

LLAMA = model(*[full()] * 32)


def made(version: str = "0.33.0", **asked: object) -> Plan:
    return plan(LLAMA, PLAIN, gpu("9.0"), load_vllm_behaviour(version), replace(Settings(context_tokens=32768), **asked))


def room(pool: int) -> MemorySplit:
    return MemorySplit(device_bytes=0, budget_bytes=0, weights_bytes=0, overhead_bytes=0, kv_pool_bytes=pool)


def test_the_line_is_one_since_028_and_two_before() -> None:
    new, old = (capacity(made(v), room(40 * GIB), 32768) for v in ("0.33.0", "0.27.0"))
    assert new.log_line == "GPU KV cache size: 327,680 tokens, Maximum concurrency for 32,768 tokens per request: 10.00x"
    assert old.log_line == "GPU KV cache size: 327,680 tokens\nMaximum concurrency for 32,768 tokens per request: 10.00x"
    assert new.per_rank_tokens == 327680


def test_a_request_that_does_not_fit_is_refused_with_the_longest_that_does() -> None:
    found = capacity(made(), room(2 * GIB), 32768)
    assert found.limited_by == "does_not_fit"
    assert found.refusals[0].text.startswith(
        "To serve at least one request with the model's max seq len (32768), (4.0 GiB KV cache is needed, which is larger than the "
        "available KV cache memory (2.0 GiB). Based on the available memory, the estimated maximum model length is 16368. "
    )


def test_no_memory_at_all_has_words_of_its_own_and_says_how_much_is_missing() -> None:
    short = replace(room(0), budget_bytes=10 * GIB, weights_bytes=9 * GIB, overhead_bytes=3 * GIB)
    refusal = capacity(made(), short, 32768).refusals[0]
    assert refusal.text.startswith("No available memory for the cache blocks.")
    assert refusal.why.values == {"excess": 2 * GIB}


def test_running_requests_bind_when_the_pool_is_large() -> None:
    found = capacity(made(max_num_seqs=4), room(40 * GIB), 32768, ranks=2)
    assert (found.max_concurrency, found.per_rank_concurrency, found.limited_by) == (8, 10, "max_num_seqs")
    assert found.tokens == 2 * found.per_rank_tokens


def test_context_parallel_ranks_share_a_latent_request() -> None:
    deepseek = model(*[latent()] * 61, architecture="DeepseekV3ForCausalLM")
    alone, shared = (
        plan(deepseek, PLAIN, gpu("9.0"), load_vllm_behaviour("0.33.0"), Settings(context_tokens=131072, parallel=Parallel(tp=8, dcp=n))) for n in (1, 8)
    )
    one, eight = (capacity(p, room(40 * GIB), 131072) for p in (alone, shared))
    assert eight.per_rank_concurrency == one.per_rank_concurrency * 8


def test_a_million_tokens_of_glm_on_eight_h200_do_not_fit() -> None:
    """The refusal is the engine's: one request against what weights and the profile run leave."""
    from serveright.engines.vllm import size

    glm = model(*[latent(64)] * 78, architecture="DeepseekV3ForCausalLM", context=1048576)
    found = size(
        glm, PLAIN, round(87.7 * GIB), gpu("9.0"), load_vllm_behaviour("0.33.0"), load_vllm_memory(), Settings(parallel=Parallel(tp=8)), context_tokens=1048576
    )
    assert not found.fits
    assert found.capacity.limited_by == "does_not_fit"


def test_a_pool_is_never_negative() -> None:
    from serveright.engines.vllm import size

    found = size(LLAMA, PLAIN, 200 * GIB, gpu("9.0"), load_vllm_behaviour("0.33.0"), load_vllm_memory(), Settings(), context_tokens=8192)
    assert (found.memory.kv_pool_bytes, found.capacity.tokens, found.fits) == (0, 0, False)
    assert found.memory.excess_bytes > 60 * GIB
    assert found.memory.derivation[-1].result == 0
