"""The formulas behind SGLang's sizes with the numbers put in, for readers who want to redo them."""

from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.cells import Cells, index_bytes, kv_heads
from serveright.engines.sglang.decide import kv_word
from serveright.engines.sglang.pool import Pool
from serveright.engines.sglang.state import has_state, slot_bytes, slots_per_request
from serveright.engines.sglang.v4 import V4Cells
from serveright.types.derivation import Derivation
from serveright.types.engine import EngineLayout
from serveright.types.text import msg

_POOLS = "sglang model_executor/pool_configurator.py"
_STATES = "sglang mem_cache/kv_cache_configurator.py _handle_max_mamba_cache"


def layout(args: Args, at: Situation, cells: Cells) -> tuple[Derivation, ...]:
    """Rows, index keys, and the sum one token costs."""
    steps: list[Derivation] = []
    rows = _rows(args, at, cells)
    if rows:
        steps.append(rows)
    if cells.index and at.seen.dsa and at.seen.latent:
        key, owners = index_bytes(at.seen.latent), cells.index // max(1, index_bytes(at.seen.latent))
        steps.append(_index(key, owners, cells.index))
    if cells.ratio and at.seen.full_layers:
        values: dict[str, int | float] = {"full": cells.full, "ratio": cells.ratio, "window": cells.window + cells.window_draft}
        why = msg("the window pool holds {ratio} tokens for each token of the full pool", ratio=cells.ratio)
        steps.append(Derivation("pool_bytes_per_token", "full + ratio * window", values, cells.token, "B", why, _POOLS))
    elif cells.draft or cells.index:
        values = {"rows": cells.rows, "index": cells.index, "draft": cells.draft}
        why = msg("all pools of one token together")
        steps.append(Derivation("pool_bytes_per_token", "rows + index + draft", values, cells.rows + cells.index + cells.draft, "B", why, _POOLS))
    return tuple(steps)


def _index(key: int, owners: int, total: int) -> Derivation:
    why = msg("an 8-bit key with its scale in every layer that scores for itself; not split over GPUs")
    return Derivation("index_bytes_per_token", "key * layers", {"key": key, "layers": owners}, total, "B", why, _POOLS)


def _rows(args: Args, at: Situation, cells: Cells) -> Derivation | None:
    word, seen = kv_word(args, at), at.seen
    if word in ("nvfp4", "fp4_mx_block16", "mxfp8") or not cells.rows or seen.minimax_sparse or args.pp > 1 or (seen.v4 and not args.v4_pools):
        return None
    item = 1 if word.startswith("fp8") else 2
    if seen.mla:
        layers = seen.attention_layers
        why = msg("one latent row per token and layer, whole on every GPU")
        values: dict[str, int | float] = {"width": cells.row_dim, "layers": layers, "itemsize": item}
        return Derivation("row_bytes_per_token", "width * layers * itemsize", values, cells.rows, "B", why, _POOLS)
    if seen.full is None:
        return None
    heads = kv_heads(seen.full, args.attn_tp if args.two_pools else max(1, args.attn_tp // args.dcp))
    layers = seen.full_layers if args.two_pools else seen.attention_layers
    values = {"heads": heads, "k": seen.full.head_dim, "v": seen.full.v_head_dim, "layers": layers, "itemsize": item}
    why = msg("K and V rows of {heads} heads on each GPU (fewer heads than GPUs are repeated)", heads=heads)
    return Derivation("row_bytes_per_token", "heads * (k + v) * layers * itemsize", values, cells.rows, "B", why, _POOLS)


def v4(args: Args, at: Situation, cells: V4Cells) -> tuple[Derivation, ...]:
    """The coefficient of one full token."""
    if cells.window_cap is not None or args.algorithm is not None:
        return ()
    values: dict[str, int | float] = {"compressed": sum(cells.compressed.values()), "ratio": cells.window_ratio, "window": cells.window_token}
    why = msg("pooled rows and index keys, and {ratio} of a window token in all layers with the compressors' state behind it", ratio=cells.window_ratio)
    result = values["compressed"] + values["ratio"] * values["window"]
    return (Derivation("pool_bytes_per_token", "compressed + ratio * window", values, result, "B", why, _POOLS),)


def capacity(args: Args, at: Situation, layout_: EngineLayout, pool: Pool) -> tuple[Derivation, ...]:
    """Slots, tokens, running requests."""
    steps: list[Derivation] = []
    page = args.page or 1
    if has_state(at.seen) and pool.slots is not None and pool.slots > 0:
        per_request = slots_per_request(args, at)
        values: dict[str, int | float] = {"slots": pool.slots, "per_request": per_request}
        why = msg("{count} state slots per running request: its own and what prefix caching holds", count=per_request)
        steps.append(Derivation("running_by_state", "floor(slots / per_request)", values, pool.slots // per_request, "", why, _STATES))
        slot = slot_bytes(args, at)
        whole = {"slots": pool.slots, "slot": slot}
        why = msg("one slot more than the server hands out lies in memory")
        steps.append(Derivation("state_pool_bytes", "(slots + 1) * slot", dict(whole), (pool.slots + 1) * slot, "B", why, _STATES))
    if not args.v4_pools and layout_.pool_bytes_per_token and pool.tokens > 0 and args.max_total_tokens is None and not _by_requests(args, pool):
        budget = int(pool.rest_gib * 2**30)
        values = {"budget": budget, "per_token": layout_.pool_bytes_per_token, "page": page}
        why = msg("what is left holds that many whole pages")
        steps.append(Derivation("tokens", "floor(floor(budget / per_token) / page) * page", values, pool.tokens, "tokens", why, _POOLS))
    return tuple(steps)


def _by_requests(args: Args, pool: Pool) -> bool:
    return args.two_pools and not args.radix and args.max_running is not None and pool.window_tokens > 0
