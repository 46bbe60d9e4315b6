"""MiniMax-M3's block-sparse layers in vLLM: plain K and V rows in 128-token blocks beside one bf16 index key per token.

Follows `models/minimax_m3/common/indexer.py` and `sparse_attention.py`.
"""

from serveright.engines.vllm.backends import Blocks
from serveright.engines.vllm.specs import Spec
from serveright.types.model import Attention, Indexer

BLOCK = Blocks((128,))


def readers(_: Attention) -> list[tuple[str, Blocks]]:
    """Backends of one sparse layer."""
    return [("MINIMAX_M3_SPARSE_INDEXER", BLOCK), ("MINIMAX_M3_SPARSE", BLOCK)]


def index_spec(indexer: Indexer, block: int) -> Spec:
    """One bf16 key per token."""
    content = indexer.dim * indexer.key_heads * 2
    return Spec(kind="latent", role="index_key", block=block, heads=1, content=content, stride_tokens=128, identity=(content, "bfloat16", "indexer"))
