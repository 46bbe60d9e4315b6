"""Dots3-Note's caches in vLLM: full layers store rows padded to the width of the window layers' rows, beside index keys; kernels of the model's own read both.

Follows `models/dots3_note/nvidia/model.py` and `attention.py`: the layers bypass the selector.
"""

from serveright.engines.vllm.backends import Blocks
from serveright.engines.vllm.site import Site
from serveright.engines.vllm.specs import Spec
from serveright.engines.vllm.words import itemsize, quantised
from serveright.types.engine import Refusal
from serveright.types.model import Latent
from serveright.types.text import msg

PADDED, WINDOW = "DOTS3_NOTE_PADDED_MLA_SPARSE", "TRITON_MLA"
LAYOUTS = ("BLHNC",)
SPARSE_BLOCKS, WINDOW_BLOCKS = Blocks((), 64), Blocks((), 16)
HOPPER = 9


def readers(m: Latent) -> list[tuple[str, Blocks, tuple[str, ...]]]:
    """The backend of one layer with its kernel blocks and memory orders."""
    return [(PADDED, SPARSE_BLOCKS, LAYOUTS)] if m.indexer else [(WINDOW, WINDOW_BLOCKS, ())]


def row_spec(site: Site, m: Latent, block: int) -> Spec:
    """One layer's rows: as wide as the widest of the model."""
    content = site.widest_latent * itemsize(site.cache_dtype, site.model_dtype)
    if m.kind == "sliding_mla" and m.window_tokens:
        return Spec(kind="window_latent", role="window", block=block, heads=1, content=content, window=m.window_tokens, identity=(content, "window"))
    return Spec(kind="latent", role="latent", block=block, heads=1, content=content, identity=(content, site.cache_dtype, "main"))


def refusal(site: Site) -> Refusal | None:
    """What the kernel's constructor refuses, and where it is not rebuilt."""
    source = "v1/attention/backends/mla/flashattn_mla_sparse.py"
    if quantised(site.cache_dtype):
        text = "FlashAttnMLASparseImpl currently supports only FP16/BF16 KV cache."
        return Refusal(code="dots3_cache_dtype", text=text, why=msg("the model's own sparse kernel reads 16-bit rows only"), source=source)
    if site.device.major != HOPPER:
        why = msg("vLLM lays out {architecture} with code of its own that is not rebuilt here: its cache is unknown", architecture=site.architecture)
        return Refusal(code="layout_unknown", text="", why=why)
    return None
