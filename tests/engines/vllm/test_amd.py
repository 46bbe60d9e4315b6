"""DeepSeek-V4 on AMD: its classes describe the caches by the code NVIDIA's share, and a public start-up log says the same to the token."""

from serveright.catalog.gpus import load_gpu
from serveright.catalog.models import load
from serveright.catalog.vllm import load_vllm_behaviour, load_vllm_memory
from serveright.engines.vllm import size
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Settings


def test_a_public_log_of_an_mi300x_is_met_to_the_token() -> None:
    """tc3oliver/deepseek-v4-flash-mi300x, README.md and compose.yaml (2026-08): vLLM 0.26.1rc1 for ROCm, 20e9 bytes of cache, 2,048 tokens a step."""
    files = load("deepseek-ai/DeepSeek-V4-Flash-0731")
    asked = Settings(
        context_tokens=262144,
        kv_dtype="fp8",
        block_tokens=256,
        token_budget=2048,
        speculative_method="dspark",
        speculative_tokens=7,
        extra={"kv-cache-memory-bytes": "20000000000"},
    )
    sized = size(read_model(files), read_checkpoint(files), 0, load_gpu("mi300x"), load_vllm_behaviour("0.26.0"), load_vllm_memory(), asked)
    assert sized.resolved.refusals == ()
    assert sized.resolved.attention_decode == "ROCM_FLASHMLA_SPARSE_DSV4"
    assert (sized.capacity.per_rank_tokens, round(sized.capacity.per_rank_concurrency, 2)) == (1_927_444, 7.35)
