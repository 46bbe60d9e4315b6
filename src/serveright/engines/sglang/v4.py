"""DeepSeek-V4's pools: pooled rows of each ratio, index keys, a window pool and the compressors' states: model_executor/pool_configurator.py DSV4PoolConfigurator.

`bytes_per_token` is the coefficient of the full pool's tokens; what does not grow with them is taken off the budget first.
"""

from collections import Counter
from math import ceil

from msgspec import Struct

from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.seen import Seen, stages
from serveright.engines.sglang.window import request_cap
from serveright.types.model import Latent

_V4, _V41, _V41_FP4 = (584, 576), (528, 512), (288, 256)
"""Bytes of one row and the page alignment of each layout (kernels/ops/attention/dsv4/kv_layout.py)."""
_LOW = (1, 2)


class V4Cells(Struct, frozen=True, kw_only=True):
    """Bytes by what they grow with. `owners`: layers that store rows of a ratio; `rings`: rows of a compressor's ring."""

    owners: dict[int, int]
    layers: int
    rings: dict[int, int]
    compressed: dict[int, float]
    """Bytes one full token adds in all layers of a ratio, index key included."""
    window_token: float
    window_ratio: float
    window_cap: int | None
    index_bytes: int
    state_token: float
    """Bytes of ratio-4 compressor state behind one window token, all layers."""
    bytes_per_token: float
    row_width: int
    page: int
    paged: bool
    row_low: float
    low_index: int


def v4_cells(args: Args, at: Situation) -> V4Cells:
    """The dearest stage's pools; stages beyond the last layer keep none."""
    return max((_cells(args, at, seen) for seen in stages(at.seen, args.pp) if seen.layers), key=lambda cell: cell.bytes_per_token)


def _cells(args: Args, at: Situation, seen: Seen) -> V4Cells:
    mixers = [(layer, m) for layer in seen.layers for m in layer.mixers if isinstance(m, Latent)]
    latent = mixers[0][1]
    width = latent.kv_lora_rank + latent.rope_dim
    index_dim = next((m.indexer.dim for _, m in mixers if m.indexer), 0)
    owned = Counter(m.compress_ratio for layer, m in mixers if m.compress_ratio and (m.compress_ratio not in _LOW or layer.cache_from is None))
    owners = {ratio: owned[ratio] for ratio in (4, 128, 1, 2) if owned[ratio]}
    speculative = args.algorithm is not None
    rings = {ratio: _ring(ratio, args.draft_tokens or 0 if speculative else 0) for ratio in owners if ratio != 1}
    page, low_index = args.page or 256, index_dim // 2 + index_dim // 32
    index = index_dim + index_dim // 128 * 4
    flat = args.dsv4_backend == "trtllm"
    compressed = {ratio: _compressed(args, ratio, width, page, flat, low_index if ratio in _LOW else index) * count for ratio, count in owners.items()}
    state = 4 * (width + index_dim) * at.behaviour.constants.compress_state_bytes
    window = _row(args, 0, width, page, flat) * len(mixers) + rings.get(4, 0) / page * state * owners.get(4, 0)
    ratio = args.swa_ratio if args.swa_ratio_set and args.swa_ratio is not None else 0.1
    cap = _window_cap(args, at, latent)
    total = (0 if cap is not None else ratio * window) + sum(compressed.values())
    scale = (len(mixers) + 1) / len(mixers) if speculative else 1.0
    return V4Cells(
        owners=owners,
        layers=len(mixers),
        rings=rings,
        compressed=compressed,
        window_token=window * scale,
        window_ratio=ratio,
        window_cap=cap,
        index_bytes=index,
        state_token=(window - _row(args, 0, width, page, flat) * len(mixers)) * scale,
        bytes_per_token=total * scale,
        row_width=width,
        page=page,
        paged=not flat,
        row_low=_row(args, 2, width, page, flat) if 2 in owners else _row(args, 1, width, page, flat) if 1 in owners else 0.0,
        low_index=low_index,
    )


def _ring(ratio: int, drafts: int) -> int:
    if ratio == 2:
        return 1 << (drafts + 1).bit_length() if drafts else 2
    if drafts:
        return 16 if ratio == 4 else 256
    return 8 if ratio == 4 else 128


def _row(args: Args, ratio: int, width: int, page: int, flat: bool) -> float:
    """Bytes a row costs in its page. `ratio` 0: the window. V4: 8-bit part, rope in 16 bits, scales; padded so that pages align."""
    if flat:
        return width
    if args.dsv4_backend == "flashmla_mega":
        row, align = _V41_FP4 if ratio in _LOW else _V41
    else:
        row, align = _V4
    rows = page // ratio if ratio else page
    return ceil(rows * row / align) * align / rows


def _compressed(args: Args, ratio: int, width: int, page: int, flat: bool, index: int) -> float:
    row = _row(args, ratio, width, page, flat)
    if ratio in _LOW:
        return (row + index) / ratio
    if ratio == 4:
        return 1 / 4 * row + 1 / 4 * index
    return 1 / 128 * row


def _window_cap(args: Args, at: Situation, latent: Latent) -> int | None:
    """Window tokens sized by running requests and cached prefixes instead of a ratio, where no ratio was set."""
    if args.swa_ratio_set or args.max_running is None or latent.window_tokens is None or (args.role != "decode" and (args.chunk or 0) <= 0):
        return None
    page = args.page or 256
    running = max(1, args.max_running // args.attn_dp)
    tails = args.prefix_tails if args.prefix_tails is not None else 4 * running if args.radix else 0
    cap = request_cap(args, at, latent.window_tokens) + tails * (latent.window_tokens + page)
    return ceil(cap / page) * page


def fixed_bytes(cells: V4Cells, args: Args, at: Situation, running: int) -> float:
    """What the pools take whatever the number of tokens: rings of ratio 128 and 2 for each request, and the window pool where requests size it."""
    slots, item, width = running + 1, at.behaviour.constants.compress_state_bytes, cells.row_width
    total = 0.0
    if 128 in cells.owners:
        ring = cells.rings[128]
        rows = ceil((slots * ring + ring + 1) / 128) * 128
        total += rows * 2 * width * item * cells.owners[128]
    if 2 in cells.owners:
        ring = cells.rings[2]
        rows = ceil((slots * ring + ring + 1) / 2) * 2
        total += rows * 2 * width * 4 * cells.owners[2]
    return total + (0 if cells.window_cap is None else cells.window_cap * cells.window_token)


def padding_bytes(cells: V4Cells, args: Args, tokens: int) -> float:
    """Pages kept back for rows of ratio 1 and 2 beyond those the tokens need."""
    if not cells.paged:
        return 0.0
    total = 0.0
    for ratio in _LOW:
        if ratio not in cells.owners:
            continue
        page = 64
        slots = ceil(((tokens + cells.page) // ratio + page) / page) * page
        main = cells.page * _row(args, ratio, cells.row_width, cells.page, False)
        total += (main + (slots - tokens // ratio) * cells.low_index) * cells.owners[ratio]
    return total


class V4Pool(Struct, frozen=True, kw_only=True):
    """Tokens of the full pool, of the window pool, and rows of the compressors' states."""

    full: int
    window: int
    state4: int
    state128: int
    fixed: float


def v4_pool(args: Args, at: Situation, budget: int) -> V4Pool:
    """The pools that `budget` bytes hold."""
    cells = v4_cells(args, at)
    running = _planned_running(args, cells, budget)
    fixed = fixed_bytes(cells, args, at, running)
    left = max(budget - fixed, 0)
    full = int(left / cells.bytes_per_token) // cells.page * cells.page
    while full > 0 and full * cells.bytes_per_token + padding_bytes(cells, args, full) > left:
        full -= cells.page
    window = cells.window_cap if cells.window_cap is not None else int(full * cells.window_ratio) // cells.page * cells.page
    return V4Pool(full=full, window=window, state4=window // cells.page * cells.rings.get(4, 0), state128=(running + 1) * cells.rings.get(128, 0), fixed=fixed)


def _planned_running(args: Args, cells: V4Cells, budget: int) -> int:
    if args.max_running is not None:
        return max(1, args.max_running // args.attn_dp)
    tokens = int(budget / cells.bytes_per_token)
    return min(max(min(int(tokens / max(1, args.context) * 512), 4096), 2048), tokens // 2)
