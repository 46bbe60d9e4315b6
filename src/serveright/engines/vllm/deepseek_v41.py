"""DeepSeek-V4.1's caches in vLLM: a window of rows for every layer; compressed rows, index keys and a ring of open groups for its source layers only.

Follows `models/deepseek_v41/attention.py`, `compressor.py` and `nvidia/model.py`. sm_10x stores a record of its own, other GPUs that of DeepSeek-V4.
"""

from math import lcm

from serveright.engines.vllm.backends import Blocks
from serveright.engines.vllm.deepseek_v4 import LAYOUTS, PACKED_ROW, index_row
from serveright.engines.vllm.site import Site, latent_width
from serveright.engines.vllm.specs import Spec
from serveright.engines.vllm.words import itemsize
from serveright.types.model import Latent

MXFP8_ROW = 528
"""512 fp8 values with a scale byte per 32."""
NVFP4_ROW = 288
"""512 fp4 values with a scale byte per 16; compressed rows only."""
WINDOW_BLOCK = 32
HEADS_PER_GROUP = 8
"""Query heads per output group that the fused kernel of sm_10x is built for."""
RING_LEAST = 8
FLOAT = 4
MEGA, FLASH, PLAIN = "FLASHMLA_MEGA_ATTN_DSV41", "FLASHMLA_SPARSE_DSV41", "FLASHINFER_MLA_SPARSE_DSV41"


def backend(site: Site, m: Latent) -> str:
    """The class the layer picks for itself: the forced one, else by device and by how heads and output groups divide."""
    if site.backend == MEGA:
        return MEGA
    if site.backend in (PLAIN, "FLASHINFER_MLA_SPARSE_DSV4") or (site.device.major == 12 and "FLASHMLA" not in site.backend):
        return PLAIN
    fused = site.device.major == 10 and not site.backend and not site.output_groups % site.tp and m.query_heads == HEADS_PER_GROUP * site.output_groups
    return MEGA if fused else FLASH


def packed(site: Site, m: Latent) -> bool:
    """Rows are packed records: everywhere but FlashInfer's class on sm_10x."""
    return backend(site, m) != PLAIN or site.device.major == 12


def cache_word(site: Site, m: Latent) -> str | None:
    """The cache dtype the layer settles on; None where the engine refuses the one asked for."""
    word = site.cache_dtype
    if not packed(site, m):
        return None if word.endswith("_ds_mla") else word
    if word in ("auto", "fp8"):
        return "nvfp4_ds_mla" if backend(site, m) == MEGA else "fp8_ds_mla"
    known = ("fp8_ds_mla", "nvfp4_ds_mla") if site.device.major == 10 else ("fp8_ds_mla",)
    return word if word in known else None


def readers(site: Site, m: Latent) -> list[tuple[str, Blocks, tuple[str, ...]]]:
    """Backends of one layer with their kernel blocks and memory orders."""
    found: list[tuple[str, Blocks, tuple[str, ...]]] = [("DEEPSEEK_SPARSE_SWA", Blocks((), 32), ())]
    if m.compress_ratio:
        name = backend(site, m)
        found.append((name, Blocks((128 if name == PLAIN else kernel_block(site),)), ()))
        if m.compress_ratio > 1:
            found.append(("CompressorBackend", Blocks((), 1), ()))
    if m.indexer and m.indexer.owns_keys:
        found.append(("DEEPSEEK_V41_INDEXER", Blocks((kernel_block(site),)), LAYOUTS))
    return found


def kernel_block(site: Site) -> int:
    """Tokens of the block that FlashMLA and the indexer read."""
    return 64 if site.device.major == 9 else 128


def specs(site: Site, m: Latent, block: int) -> list[Spec]:
    """The caches of one layer: compressed rows first, then their index keys, the window, and the ring of the group still open."""
    ratio = m.compress_ratio or 0
    found: list[Spec] = []
    if ratio:
        found.append(_rows(site, m, ratio, block, _compressed_row(site, m), "compressed"))
    if m.indexer and m.indexer.owns_keys:
        found.append(_rows(site, m, ratio, block, index_row(site, m.indexer), "index_key"))
    found.append(_window(site, m))
    return [*found, _ring(site, m)] if ratio > 1 else found


def _own_record(site: Site, m: Latent) -> bool:
    return packed(site, m) and site.device.major == 10


def _alignment(site: Site, m: Latent) -> int:
    return 576 if packed(site, m) and site.device.major != 10 else 512


def _row(site: Site, m: Latent) -> int:
    if not packed(site, m):
        return latent_width(m) * itemsize(site.cache_dtype, "bfloat16")
    return MXFP8_ROW if _own_record(site, m) else PACKED_ROW


def _compressed_row(site: Site, m: Latent) -> int:
    return NVFP4_ROW if site.cache_dtype == "nvfp4_ds_mla" else _row(site, m)


def _rows(site: Site, m: Latent, ratio: int, block: int, content: int, role: str) -> Spec:
    return Spec(
        kind="latent",
        role=role,
        block=block,
        heads=1,
        content=content,
        tokens_per_row=ratio,
        page_alignment=_alignment(site, m),
        stride_tokens=kernel_block(site),
        identity=(role, content),
    )


def _window(site: Site, m: Latent) -> Spec:
    """Blocks of the pool must hold whole rows of both records where a kernel reads the pool as rows."""
    whole_rows = lcm(_row(site, m), _compressed_row(site, m)) if _own_record(site, m) else 0
    return Spec(
        kind="window_latent",
        role="window",
        block=WINDOW_BLOCK,
        heads=1,
        content=_row(site, m),
        page_alignment=_alignment(site, m),
        stride_bytes=whole_rows,
        window=m.window_tokens or 0,
        identity=("swa", latent_width(m)),
    )


def _ring(site: Site, m: Latent) -> Spec:
    """Values and scores of the open group in float32, with room for drafts that may be taken back."""
    rows = max(RING_LEAST, 1 << (site.spec_tokens + 1).bit_length())
    content = 2 * latent_width(m) * FLOAT
    return Spec(kind="ring", role="compressor_state", block=rows, heads=1, content=content, sharded=False, identity=("ring", content))
