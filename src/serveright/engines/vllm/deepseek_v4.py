"""DeepSeek-V4's caches in vLLM: a window of rows for every layer, compressed rows and index keys for some, and the state of each compressor.

Follows `models/deepseek_v4/attention.py`, `compressor.py` and `backends/mla/sparse_swa.py`: the layers pick their own classes and bypass the selector.
"""

from serveright.engines.vllm.backends import Blocks
from serveright.engines.vllm.site import Site, latent_width
from serveright.engines.vllm.specs import Spec, SpecKind
from serveright.engines.vllm.words import itemsize
from serveright.types.model import Indexer, Latent

PACKED_ROW = 584
"""448 fp8 values, 64 bf16 rope values and 8 scale bytes: the one geometry the packed kernels know."""
WINDOW_BLOCK = 64
STATE_BLOCK = {4: 4, 128: 8}
INDEX_SCALE_GROUP = 128
MXFP4_GROUP = 32
PLAIN_BACKEND = "FLASHINFER_MLA_SPARSE_DSV4"
LAYOUTS = ("BLHNC", "BLNHC")
FORBIDDEN = ("FLASHINFER_MLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120")


def backend(site: Site) -> str:
    """The class the layer picks for itself."""
    if site.backend == PLAIN_BACKEND or (site.device.major == 12 and "FLASHMLA" not in site.backend):
        return PLAIN_BACKEND
    return "ROCM_FLASHMLA_SPARSE_DSV4" if site.device.vendor == "amd" else "FLASHMLA_SPARSE_DSV4"


def packed(site: Site) -> bool:
    """Rows are the packed 584-byte records: everywhere but FlashInfer's class on sm_10x."""
    return backend(site) != PLAIN_BACKEND or site.device.major == 12


def cache_word(site: Site) -> str | None:
    """The cache dtype the layer settles on; None where the engine refuses the one asked for."""
    if not packed(site):
        return site.cache_dtype
    return "fp8_ds_mla" if site.cache_dtype == "auto" or site.cache_dtype.startswith("fp8") else None


def readers(site: Site, m: Latent) -> list[tuple[str, Blocks, tuple[str, ...]]]:
    """Backends of one layer with their kernel blocks and memory orders."""
    found: list[tuple[str, Blocks, tuple[str, ...]]] = [("DEEPSEEK_SPARSE_SWA", Blocks((), 32), ())]
    if m.compress_ratio and m.compress_ratio > 1:
        found += [(backend(site), Blocks((256,)), ()), ("CompressorBackend", Blocks((), 1), ())]
    if m.indexer:
        found.append(("DEEPSEEK_V4_INDEXER", Blocks((256,)), LAYOUTS))
    return found


def specs(site: Site, m: Latent, block: int) -> list[Spec]:
    """The caches of one layer, window first."""
    ratio = m.compress_ratio or 1
    found = [*(_index(site, m.indexer, ratio, block) if m.indexer else []), _window(site, m)]
    if ratio > 1:
        found += [_rows(site, m, ratio, block), _compressor(site, ratio, latent_width(m))]
    return found


def index_row(site: Site, indexer: Indexer) -> int:
    """Bytes of one index key with its scales, fp8 unless mxfp4 is asked for."""
    if site.indexer_dtype == "mxfp4":
        return indexer.dim // 2 + indexer.dim // MXFP4_GROUP
    return indexer.dim + indexer.dim // INDEX_SCALE_GROUP * 4


def _alignment(site: Site) -> int:
    return 576 if packed(site) else 512


def _row(site: Site, m: Latent) -> int:
    return PACKED_ROW if packed(site) else latent_width(m) * itemsize(site.cache_dtype, "bfloat16")


def _window(site: Site, m: Latent) -> Spec:
    return _spec(site, "window_latent", "window", WINDOW_BLOCK, _row(site, m), window=m.window_tokens or 0, identity=("swa", latent_width(m)))


def _rows(site: Site, m: Latent, ratio: int, block: int) -> Spec:
    return _spec(site, "latent", "compressed", block, _row(site, m), tokens_per_row=ratio, stride_tokens=256, identity=("main", latent_width(m)))


def _index(site: Site, indexer: Indexer, ratio: int, block: int) -> list[Spec]:
    content = index_row(site, indexer)
    keys = _spec(site, "latent", "index_key", block, content, tokens_per_row=ratio, stride_tokens=256, identity=("index", content))
    return [keys, _compressor(site, ratio, indexer.dim)]


def _compressor(site: Site, ratio: int, width: int) -> Spec:
    """Values and scores of the tokens still being compressed, in float32; ratio 4 overlaps its neighbours."""
    overlap = 1 + (ratio == 4)
    content = 2 * overlap * width * 4
    return _spec(site, "window_latent", "compressor_state", STATE_BLOCK.get(ratio, 8), content, window=overlap * ratio, identity=("state", content))


def _spec(
    site: Site,
    kind: SpecKind,
    role: str,
    block: int,
    content: int,
    *,
    identity: tuple[str | int, ...],
    window: int = 0,
    tokens_per_row: int = 1,
    stride_tokens: int = 0,
) -> Spec:
    return Spec(
        kind=kind,
        role=role,
        block=block,
        heads=1,
        content=content,
        tokens_per_row=tokens_per_row,
        page_alignment=_alignment(site),
        stride_tokens=stride_tokens,
        window=window,
        identity=identity,
    )
