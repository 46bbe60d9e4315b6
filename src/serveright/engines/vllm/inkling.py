"""Inkling's layers in vLLM: FlashAttention pages beside pages of short-convolution rows, kept as windows as long as the kernel.

Follows `models/inkling/nvidia/sconv_swa_attn.py` and `attention.py`.
"""

from serveright.engines.vllm.backends import Blocks, kernel_blocks
from serveright.engines.vllm.site import Site, ask_attention
from serveright.engines.vllm.specs import Spec
from serveright.types.model import Attention

CONVOLUTIONS = "INKLING_SCONV_SWA"
BF16 = 2


def reader(site: Site, m: Attention) -> tuple[str, Blocks]:
    """The layer's attention backend is fixed: FlashAttention, with its blocks."""
    rule = next(r for r in site.behaviour.backends if r.name == "FLASH_ATTN")
    return rule.name, kernel_blocks(rule, ask_attention(site, m), site.device)


def convolution_spec(m: Attention, tp: int) -> Spec:
    """All four streams packed per KV head and padded to a power of two, always bf16: a page is one kernel's rows."""
    rows = m.conv_rows + 1
    heads = max(1, m.kv_heads // tp)
    width = 1 << (m.conv_channels // m.kv_heads - 1).bit_length()
    return Spec(kind="window", role="window", block=rows, heads=heads, content=width * BF16, window=rows, identity=(heads, width, 0, "bfloat16"))
