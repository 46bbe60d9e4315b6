"""Bytes one token costs in each pool on one GPU: model_executor/pool_configurator.py for everything but DeepSeek-V4.

Products stay integers where SGLang's are; a window ratio makes the total a double, and token counts are cut from that double.
"""

from msgspec import Struct

from serveright.engines.sglang.args import BLOCKS, Args, Situation
from serveright.engines.sglang.decide import kv_word
from serveright.engines.sglang.seen import Seen, stages
from serveright.engines.sglang.spec import draft_layers
from serveright.types.model import Attention, Latent

_ITEM = {"bf16": 2, "fp16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1, "mxfp8": 1, "nvfp4": 1, "fp4_mx_block16": 1}
_FP4 = ("nvfp4", "fp4_mx_block16")
_INDEX_BLOCK = 128
_PAGE_ROW_ALIGN = 128


class Cells(Struct, frozen=True, kw_only=True):
    """Bytes per token: `rows` (K/V or latent rows of full layers), `index` keys, `window` (of one token of the window pool), `draft` beside them.

    `full` is one token of the full pool (0 where every layer is a window), `token` one token of the reported capacity.
    """

    rows: int
    index: int
    window: int
    draft: int
    window_draft: int
    ratio: float
    full: int
    token: int | float
    row_dim: int


def cells(args: Args, at: Situation) -> Cells:
    """The dearest pipeline stage's cells: it holds the fewest tokens and all stages follow it."""
    found = [_stage(args, at, seen) for seen in stages(at.seen, args.pp)]
    return max(found, key=lambda cell: cell.token)


def _stage(args: Args, at: Situation, seen: Seen) -> Cells:
    return _window_cells(args, at, seen) if args.two_pools else _plain_cells(args, at, seen)


def _plain_cells(args: Args, at: Situation, seen: Seen) -> Cells:
    layers = seen.attention_layers
    drafts = draft_layers(args, at)[0]
    if seen.mla and seen.latent:
        rows, index = _latent_rows(args, at, seen.latent) * layers, 0
        if kv_word(args, at) in _FP4:
            rows = rows // 2 + (seen.latent.kv_lora_rank + seen.latent.rope_dim) // 16 * layers
        index_draft = 0
        if seen.dsa and seen.latent.indexer:
            key = index_bytes(seen.latent)
            owners = layers if at.behaviour.constants.index_keys == "all" else seen.index_layers
            index, index_draft = key * owners * args.dcp, key * drafts * args.dcp
        draft = int(rows * drafts / layers) * (args.dcp if seen.dsa else 1) + index_draft if layers else 0
        row = mla_row(args, at, seen.latent)
    else:
        rows, index = _softmax(args, at, seen, layers)
        draft = int((rows + index) * drafts / layers) if layers else 0
        row = 0 if seen.full is None else seen.full.head_dim + seen.full.v_head_dim
    draft += block_rows(args, at)
    total = rows + index + draft
    return Cells(rows=rows, index=index, window=0, draft=draft, window_draft=0, ratio=0, full=total, token=total, row_dim=row)


def block_rows(args: Args, at: Situation) -> int:
    """K and V of one token in a block draft's layers, on every context-parallel rank alike (speculative/dflash_utils.py dflash_draft_cell_size_per_token)."""
    own = at.seen.drafter
    if own is None or args.algorithm not in BLOCKS:
        return 0
    return kv_heads(own, args.attn_tp) * (own.head_dim + own.v_head_dim) * at.seen.draft_layers * _ITEM[kv_word(args, at)] * args.dcp


def _softmax(args: Args, at: Situation, seen: Seen, layers: int) -> tuple[int, int]:
    word = kv_word(args, at)
    if seen.v4 and seen.latent:
        return 2 * (seen.latent.kv_lora_rank + seen.latent.rope_dim) * layers * _ITEM[word], 0
    if seen.full is None:
        return 0, 0
    if seen.minimax_sparse and seen.full:
        return _minimax(args, at, seen, seen.full)
    heads = kv_heads(seen.full, max(1, args.attn_tp // args.dcp))
    width = heads * (seen.full.head_dim + seen.full.v_head_dim)
    rows = width * layers * _ITEM[word]
    if word == "nvfp4":
        rows = _nvfp4(args, at, heads, seen.full.head_dim, layers)
    elif word == "fp4_mx_block16":
        rows = heads * (seen.full.head_dim // 2) * layers * 2 + heads * seen.full.head_dim // 16 * layers * 2
    elif word == "mxfp8":
        rows += width * layers // 32
    indexer = seen.full.indexer
    index = indexer.key_heads * indexer.dim * 2 // indexer.compress_ratio * layers if indexer else 0
    return rows, index


def kv_heads(mixer: Attention, tp: int) -> int:
    """KV heads one GPU keeps: at least one, so fewer heads than ranks are repeated."""
    return max(1, mixer.kv_heads // tp)


def _nvfp4(args: Args, at: Situation, heads: int, dim: int, layers: int) -> int:
    """Packed halves plus one scale layout, two where an fp8 prefill workspace stands beside native decode on sm_100."""
    workspace = args.backends[0] == "flashinfer"
    native = at.device.at("sm100")
    layouts = int(workspace or not native) + int(native)
    return heads * (dim // 2) * layers * 2 + heads * (dim // 16) * layers * 2 * layouts + (heads * dim * 2 if workspace else 0)


def _latent_rows(args: Args, at: Situation, latent: Latent) -> int:
    return mla_row(args, at, latent) * _ITEM[kv_word(args, at)]


def mla_row(args: Args, at: Situation, latent: Latent) -> int:
    """Elements of one latent row. Sparse attention with fp8 rows and kernels that want scales: rank + a 4-byte scale per 128 + the rope part in 16 bits."""
    plain = latent.kv_lora_rank + latent.rope_dim
    if not at.seen.dsa or kv_word(args, at) != "fp8_e4m3":
        return plain
    chosen = {"prefill": (args.dsa_prefill,), "decode": (args.dsa_decode,)}.get(args.role, (args.dsa_prefill, args.dsa_decode))
    raw_on_hip = at.device.hip and any(name in ("tilelang", "triton", "aiter") for name in (args.dsa_prefill, args.dsa_decode))
    if "trtllm" in chosen or raw_on_hip or (args.dsa_prefill, args.dsa_decode) == ("tilelang", "tilelang"):
        return plain
    return latent.kv_lora_rank + latent.kv_lora_rank // _INDEX_BLOCK * 4 + latent.rope_dim * 2


def index_bytes(latent: Latent) -> int:
    """One index key with its scale, shared by `compress_ratio` tokens."""
    indexer = latent.indexer
    if indexer is None:
        return 0
    return -(-(indexer.dim + indexer.dim // _INDEX_BLOCK * 4) // indexer.compress_ratio)


def _minimax(args: Args, at: Situation, seen: Seen, full: Attention) -> tuple[int, int]:
    """K and V of all layers, and one unsharded index key in every block-sparse layer."""
    word = kv_word(args, at)
    heads = kv_heads(full, args.attn_tp)
    sparse = [m for layer in seen.layers for m in layer.mixers if isinstance(m, Attention) and m.indexer]
    dim = sparse[0].indexer.dim if sparse and sparse[0].indexer else 0
    if seen.quantization == "mxfp8" and seen.experts.startswith("nvfp4") and at.device.at("blackwell"):
        return _packed_pages(heads, full.head_dim, dim) * len(sparse) // 128, 0
    fp8_index = word == "fp8_e4m3" and (at.device.at("sm90") or (args.attention == "trtllm_mha" and at.device.at("sm100")))
    layers = sum(isinstance(m, Attention) for layer in seen.layers for m in layer.mixers)
    return layers * 2 * heads * full.head_dim * _ITEM[word], len(sparse) * dim * (1 if fp8_index else 2)


def _packed_pages(heads: int, dim: int, index_dim: int) -> int:
    """Bytes of one 128-token page of the packed NVFP4 pool of one layer: halves, a scale per 16, rows aligned; and its index row."""
    parts = [heads * 128 * dim // 2, heads * 128 * (dim // 16)] * 2 + [128 * (index_dim // 2), 128 * (index_dim // 16)]
    return sum(-(-size // _PAGE_ROW_ALIGN) * _PAGE_ROW_ALIGN for size in parts)


def window_ratio(args: Args, at: Situation) -> float:
    """Window tokens kept per full token."""
    return args.swa_ratio if args.swa_ratio is not None else at.behaviour.constants.swa_full_tokens_ratio


def _window_cells(args: Args, at: Situation, seen: Seen) -> Cells:
    word = kv_word(args, at)
    full_one = _one(seen.full, args.attn_tp, word)
    window_one = _one(seen.window, args.attn_tp, word)
    drafts, draft_windows, every_token = draft_layers(args, at)
    ratio = window_ratio(args, at)
    rows, window = full_one * seen.full_layers, window_one * seen.window_layers
    draft, window_draft = full_one * (drafts - draft_windows - every_token) + window_one * every_token, window_one * draft_windows
    draft += block_rows(args, at)
    full = rows + draft
    token = window + draft + window_draft if not seen.full_layers else full + ratio * (window + window_draft)
    row = 0 if seen.full is None else seen.full.head_dim + seen.full.v_head_dim
    return Cells(rows=rows, index=0, window=window, draft=draft, window_draft=window_draft, ratio=ratio, full=full, token=token, row_dim=row)


def _one(mixer: Attention | None, tp: int, word: str) -> int:
    """One token in one layer."""
    if mixer is None:
        return 0
    width = kv_heads(mixer, tp) * (mixer.head_dim + mixer.v_head_dim)
    return width * _ITEM[word] + (width // 32 if word == "mxfp8" else 0)
