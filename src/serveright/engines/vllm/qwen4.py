"""Qwen4Exp's full layers in vLLM: K and V rows read by a kernel of its own, one pooled index key per group of tokens, and a ring of raw keys for the open group.

Follows `models/qwen4_exp/common/qsa_cache.py` and `nvidia/qsa.py`.
"""

from serveright.engines.vllm.backends import Blocks
from serveright.engines.vllm.specs import Spec, round_up
from serveright.types.model import Indexer

STATE, MAIN = "QWEN4_EXP_EXP_QSA_STATE", "QWEN4_EXP_QSA_TRITON"
LAYOUTS = ("BLNHC", "BLHNC")
KV_DTYPES = ("auto", "bfloat16", "fp8", "fp8_e4m3")
MAIN_BLOCKS = Blocks((), 16)
BF16 = 2
POSITION = 4
"""bf16 places one 64-bit position takes."""


def readers() -> list[tuple[str, Blocks, tuple[str, ...]]]:
    """Backends of one layer with their kernel blocks and memory orders."""
    return [(STATE, Blocks((), 1), LAYOUTS), (MAIN, MAIN_BLOCKS, ())]


def index_specs(indexer: Indexer, block: int, spec_tokens: int) -> list[Spec]:
    """The ring of raw keys (with their exact positions where images move them), then the pooled keys."""
    ratio = indexer.compress_ratio
    width = indexer.dim
    if indexer.position_axes:
        width = round_up(width, POSITION) + indexer.position_axes * POSITION
    ring = Spec(
        kind="ring",
        role="compressor_state",
        block=round_up(ratio + spec_tokens, ratio),
        heads=1,
        content=width * BF16,
        sharded=False,
        identity=(width, "bfloat16", "qsa"),
    )
    keys = Spec(
        kind="latent",
        role="index_key",
        block=block,
        heads=1,
        content=indexer.dim * BF16,
        tokens_per_row=ratio,
        identity=(indexer.dim, "bfloat16", "indexer"),
    )
    return [ring, keys]
