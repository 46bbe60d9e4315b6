"""How many tokens, window tokens and state slots a budget holds, and what limits running requests: kv_cache_configurator.py."""

from msgspec import Struct

from serveright.engines.sglang import cells as cell
from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.state import has_state, slot_bytes, slots_per_request, state_pool
from serveright.engines.sglang.v4 import v4_cells, v4_pool
from serveright.engines.sglang.window import request_cap
from serveright.types.engine import Refusal
from serveright.types.text import Msg, msg

_NO_MEMORY = "Not enough memory. Please try to increase --mem-fraction-static."
_NO_STATE = "Not enough GPU memory for hybrid (mamba/linear-attention) state cache."
_NO_REQUEST = "Hybrid (mamba/linear-attention) state cache is too small to serve any requests."


NO_KV_MEMORY = "no-kv-memory"


class Pool(Struct, frozen=True, kw_only=True):
    """One attention rank's pool on one GPU. `tokens` is max_total_num_tokens; `limited_by` names what caps running requests."""

    tokens: int
    window_tokens: int
    running: int
    limited_by: str
    slots: int | None = None
    rest_gib: float
    fixed_bytes: int = 0
    state4: int = 0
    state128: int = 0
    refusals: tuple[Refusal, ...] = ()


_NOTHING = Pool(tokens=0, window_tokens=0, running=0, limited_by="memory", rest_gib=0.0)


def fill(args: Args, at: Situation, rest_gib: float) -> Pool:
    """The pool for `rest_gib` GiB left after weights, slack and images. A double all the way, as SGLang counts GiB."""
    refusals: tuple[Refusal, ...] = ()
    slots = None
    fixed = 0
    if has_state(at.seen):
        try:
            slot = slot_bytes(args, at)
        except ValueError:
            return _NOTHING  # refused when the arguments were decided
        states = state_pool(args, at, rest_gib, slot)
        slots, fixed = states.slots, (states.slots + 1) * slot
        rest_gib = states.rest_gib
        if slots <= 0:
            refusals += (_refusal("no-state-memory", _NO_STATE, msg("no memory is left for states; those of one request take {bytes:gib}", bytes=slot)),)
    budget = int(rest_gib * (1 << 30))
    tokens, window_tokens, extra, states4, states128 = _tokens(args, at, max(budget, 0))
    running, limit = _running(args, at, tokens, slots)
    if tokens <= 0 or rest_gib <= 0:
        refusals += (_refusal(NO_KV_MEMORY, _NO_MEMORY, msg("nothing is left for the KV cache")),)
    elif running <= 0 and slots is not None:
        refusals += (_refusal("no-state-slots", _NO_REQUEST, msg("{slots} state slots, {each} per request", slots=slots, each=slots_per_request(args, at))),)
    refusals += _small_window(args, at, tokens, window_tokens)
    return Pool(
        tokens=max(tokens, 0),
        window_tokens=window_tokens,
        running=max(running, 0),
        limited_by=limit,
        slots=slots,
        rest_gib=rest_gib,
        fixed_bytes=fixed + extra,
        state4=states4,
        state128=states128,
        refusals=refusals,
    )


def _refusal(code: str, text: str, why: Msg) -> Refusal:
    return Refusal(code=f"sglang-{code}", text=text, why=why, source="sglang 0.5.23 mem_cache/kv_cache_configurator.py")


def _tokens(args: Args, at: Situation, budget: int) -> tuple[int, int, int, int, int]:
    page = args.page or 1
    if args.v4_pools:
        pool = v4_pool(args, at, budget)
        full = pool.full if args.max_total_tokens is None else min(pool.full, args.max_total_tokens) // page * page
        return full, pool.window, int(pool.fixed), pool.state4, pool.state128
    cells = cell.cells(args, at)
    if args.two_pools:
        return *_two_pools(args, at, cells, budget), 0, 0, 0
    tokens = int(budget // cells.token) if cells.token else (args.max_total_tokens or args.context)
    tokens = min(tokens, args.max_total_tokens) if args.max_total_tokens is not None else tokens
    return tokens // page * page, 0, 0, 0, 0


def sized_by_requests(args: Args, at: Situation) -> bool:
    """The window pool follows running requests: no prefix cache, an explicit limit, chunked prefill."""
    window = at.seen.window.window_tokens if at.seen.window else None
    return args.two_pools and args.max_running is not None and not args.radix and (args.chunk or 0) > 0 and window is not None and at.seen.full_layers > 0


def _two_pools(args: Args, at: Situation, cells: cell.Cells, budget: int) -> tuple[int, int]:
    page = args.page or 1
    if sized_by_requests(args, at) and at.seen.window and at.seen.window.window_tokens:
        window = -(-request_cap(args, at, at.seen.window.window_tokens) // page) * page
        return int((budget - window * (cells.window + cells.window_draft)) // cells.full) // page * page, window
    tokens = int(budget // cells.token)
    if args.max_total_tokens is not None:
        tokens = min(tokens, args.max_total_tokens)
    tokens = tokens // page * page
    if not at.seen.full_layers:
        return tokens, tokens
    return tokens, int(tokens * cells.ratio) // page * page


def _small_window(args: Args, at: Situation, tokens: int, window_tokens: int) -> tuple[Refusal, ...]:
    latent = at.seen.latent
    window = at.seen.window.window_tokens if at.seen.window else latent.window_tokens if latent and args.v4_pools else None
    page = args.page or 1
    ratio_sized = (args.v4_pools and v4_cells(args, at).window_cap is None) or (args.two_pools and not sized_by_requests(args, at))
    if tokens <= 0 or window is None or not ratio_sized or window + page < window_tokens:
        return ()
    text = (
        f"SWA pool ({window_tokens} tokens) cannot hold even one request: the prefill admission floor is sliding_window_size ({window}) + page_size ({page})."
    )
    return (
        Refusal(
            code="sglang-small-window", text=text, why=msg("raise --swa-full-tokens-ratio or the memory share"), source="sglang 0.5.23 pool_configurator.py:191"
        ),
    )


def _running(args: Args, at: Situation, tokens: int, slots: int | None) -> tuple[int, str]:
    """resolve_max_num_reqs: the smallest of what the user or the length asks for, half the tokens, and the state slots."""
    estimated = max(min(int(tokens / max(1, args.context) * 512), 4096), 2048)
    wanted = estimated if args.max_running is None else max(1, args.max_running // args.attn_dp)
    running, limit = wanted, "max_num_seqs"
    if tokens // 2 < running:
        running, limit = tokens // 2, "memory"
    if slots is not None:
        by_state = slots // slots_per_request(args, at)
        if by_state < running:
            running, limit = by_state, "state_slots"
    return running, limit
