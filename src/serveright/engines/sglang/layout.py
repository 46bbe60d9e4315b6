"""How SGLang's pools lie in memory on one GPU: which rows each kind of layer stores, and what one token of the reported capacity costs."""

from serveright.engines.sglang import cells as cell
from serveright.engines.sglang import derive
from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.decide import kv_word
from serveright.engines.sglang.state import has_state, slot_bytes, slots_per_request
from serveright.engines.sglang.v4 import V4Cells, v4_cells
from serveright.types.engine import CacheGroup, EngineLayout
from serveright.types.text import Msg, msg


def layout_of(args: Args, at: Situation) -> EngineLayout:
    """The layout of decided arguments."""
    return _v4_layout(args, at) if args.v4_pools else _plain_layout(args, at)


def _plain_layout(args: Args, at: Situation) -> EngineLayout:
    cells, page = cell.cells(args, at), args.page or 1
    groups: list[CacheGroup] = []
    seen = at.seen
    full_layers = seen.full_layers if args.two_pools else seen.attention_layers
    if cells.rows:
        groups.append(_growing("latent" if seen.mla else "kv", full_layers, page, cells.rows))
    if cells.index:
        groups.append(_growing("index_key", _index_layers(args, at), page, cells.index))
    if cells.draft:
        groups.append(_growing("latent" if seen.mla and seen.drafter is None else "kv", seen.draft_layers, page, cells.draft))
    if cells.window:
        window = seen.window.window_tokens or seen.window.chunk_tokens if seen.window else None
        groups.append(
            CacheGroup(
                kind="window", layers=seen.window_layers, block_tokens=page, bytes_per_block=(cells.window + cells.window_draft) * page, window_tokens=window
            )
        )
    stored = cells.rows + cells.index
    return EngineLayout(
        name=_name(args, at),
        block_tokens=page,
        groups=(*groups, *_state_group(args, at)),
        stored_bytes_per_token=stored,
        padded_bytes_per_token=cells.full or stored,
        pool_bytes_per_token=cells.token,
        pool_bytes_per_block=int(cells.token * page),
        fixed_bytes_per_sequence=_state_per_request(args, at),
        state_slots_per_request=slots_per_request(args, at) if has_state(seen) else 0,
        state_bytes_per_slot=_slot(args, at),
        derivation=derive.layout(args, at, cells),
    )


def _growing(kind: str, layers: int, page: int, bytes_per_token: int) -> CacheGroup:
    return CacheGroup(kind=kind, layers=layers, block_tokens=page, bytes_per_block=bytes_per_token * page, bytes_per_token=bytes_per_token)  # type: ignore[arg-type]


def _index_layers(args: Args, at: Situation) -> int:
    return at.seen.attention_layers if at.behaviour.constants.index_keys == "all" and at.seen.mla else at.seen.index_layers


def _slot(args: Args, at: Situation) -> int:
    try:
        return slot_bytes(args, at)
    except ValueError:
        return 0  # refused already: the state does not split over these ranks


def _state_per_request(args: Args, at: Situation) -> int:
    return slots_per_request(args, at) * _slot(args, at) if has_state(at.seen) else 0


def _state_group(args: Args, at: Situation) -> tuple[CacheGroup, ...]:
    if not has_state(at.seen):
        return ()
    layers = len(at.seen.states) or len(at.seen.layers)
    slot = _slot(args, at)
    return (CacheGroup(kind="state", layers=layers, block_tokens=1, bytes_per_block=slot, state_bytes=slot),)


def _name(args: Args, at: Situation) -> Msg:
    word = kv_word(args, at)
    if at.seen.minimax_sparse:
        return msg("{word} rows beside unsharded index keys", word=word)
    if at.seen.mla and at.seen.latent:
        width = cell.mla_row(args, at, at.seen.latent)
        size = width * (1 if word.startswith(("fp8", "mxfp8")) else 2)
        if at.seen.dsa:
            return msg("{size}-byte {word} latent rows beside index keys", size=size, word=word)
        return msg("{size}-byte {word} latent rows", size=size, word=word)
    return msg("{word} rows in two pools (full and window)", word=word) if args.two_pools else msg("{word} rows", word=word)


def _v4_layout(args: Args, at: Situation) -> EngineLayout:
    cells, page = v4_cells(args, at), args.page or 256
    compressed = sum(cells.compressed.values())
    window = cells.window_token - cells.state_token
    groups = [CacheGroup(kind="window", layers=cells.layers, block_tokens=page, bytes_per_block=int(window * page), window_tokens=_window(at))]
    for ratio, layers in cells.owners.items():
        own = cells.compressed[ratio]
        groups.append(CacheGroup(kind="compressed", layers=layers, block_tokens=page, bytes_per_block=int(own * page), bytes_per_token=own))
    if cells.state_token:
        groups.append(CacheGroup(kind="compressor_state", layers=cells.owners.get(4, 0), block_tokens=page, bytes_per_block=int(cells.state_token * page)))
    return EngineLayout(
        name=msg("packed V4 rows: compressed pools and a window pool"),
        block_tokens=page,
        groups=tuple(groups),
        stored_bytes_per_token=compressed,
        padded_bytes_per_token=compressed,
        pool_bytes_per_token=cells.bytes_per_token,
        pool_bytes_per_block=int(cells.bytes_per_token * page),
        fixed_bytes_per_sequence=_ring_bytes(cells, at),
        derivation=derive.v4(args, at, cells),
    )


def _window(at: Situation) -> int | None:
    return at.seen.latent.window_tokens if at.seen.latent else None


def _ring_bytes(cells: V4Cells, at: Situation) -> int:
    """What one more running request adds to the rings of ratio 128 and 2."""
    item = at.behaviour.constants.compress_state_bytes
    rows = cells.rings.get(128, 0) * cells.owners.get(128, 0) * item + cells.rings.get(2, 0) * cells.owners.get(2, 0) * 4
    return rows * 2 * cells.row_width
