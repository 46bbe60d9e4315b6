"""What a pool holds: tokens, running requests and what limits them, and the line the engine prints."""

from serveright.engines.sglang import derive
from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.pool import Pool
from serveright.engines.sglang.state import slots_per_request
from serveright.types.engine import Capacity, EngineLayout, Refusal
from serveright.types.text import msg

_KEPT_BACK = 5
"""Tokens of the pool no input may take (tp_worker.py max_req_input_len)."""
_MAX_PREFILL = 16384


def capacity_of(args: Args, at: Situation, layout: EngineLayout, pool: Pool, context_tokens: int) -> Capacity:
    """Requests of `context_tokens` at once: full tokens, window tokens, state slots and the limit on running requests, whichever is least."""
    page = args.page or 1
    held = -(-context_tokens // page) * page
    limits = {"memory": pool.tokens / held, "max_num_seqs": float(_running_limit(args))}
    window = _window_tokens(args, at, held)
    if window:
        limits["memory"] = min(limits["memory"], pool.window_tokens / window)
    if pool.slots is not None:
        limits["state_slots"] = float(pool.slots // slots_per_request(args, at))
    limits["max_num_seqs"] = min(limits["max_num_seqs"], float(pool.running)) if pool.limited_by == "max_num_seqs" else limits["max_num_seqs"]
    limit = min(limits, key=lambda name: limits[name])
    one = limits[limit]
    refusals = pool.refusals + _longer_than_pool(pool, context_tokens)
    return Capacity(
        context_tokens=context_tokens,
        tokens=pool.tokens * args.attn_dp,
        max_concurrency=one * args.attn_dp,
        per_rank_tokens=pool.tokens,
        per_rank_concurrency=one,
        request_bytes=int(held * layout.padded_bytes_per_token + window * _window_bytes(layout) + layout.fixed_bytes_per_sequence),
        state_slots=pool.slots,
        limited_by="does_not_fit" if one < 1 else limit,
        log_line=log_line(args, pool, context_tokens),
        derivation=derive.capacity(args, at, layout, pool),
        refusals=refusals,
    )


def _running_limit(args: Args) -> int:
    return 4096 if args.max_running is None else max(1, args.max_running // args.attn_dp)


def _window_tokens(args: Args, at: Situation, held: int) -> int:
    """Window tokens one request holds: its window and a page more, however long it is."""
    if not (args.two_pools or args.v4_pools):
        return 0
    mixer = at.seen.window
    window = mixer.window_tokens or mixer.chunk_tokens if mixer else at.seen.latent.window_tokens if at.seen.latent else None
    return min(held, (window or held) + (args.page or 1))


def _window_bytes(layout: EngineLayout) -> float:
    return sum(group.bytes_per_block / group.block_tokens for group in layout.groups if group.kind in ("window", "compressor_state"))


def _longer_than_pool(pool: Pool, context_tokens: int) -> tuple[Refusal, ...]:
    """The engine starts and turns such a request away (managers/utils.py:284); it keeps a handful of tokens back itself."""
    if pool.tokens >= context_tokens or pool.refusals:
        return ()
    most = min(context_tokens, pool.tokens) - 1 - _KEPT_BACK
    text = f"Input length ({context_tokens} tokens) exceeds the maximum allowed length ({most} tokens). Use a shorter input or enable --allow-auto-truncate."
    why = msg("the server starts and then turns such a request away; the pool holds {tokens:n} tokens", tokens=pool.tokens)
    return (Refusal(code="sglang-request-too-long", text=text, why=why, source="sglang managers/utils.py:284", starts=True),)


def log_line(args: Args, pool: Pool, context_tokens: int) -> str:
    """The line of rank 0, without the free memory at its end, which nobody knows before the graphs are captured."""
    return (
        f"max_total_num_tokens={pool.tokens}, chunked_prefill_size={args.chunk}, max_prefill_tokens={_MAX_PREFILL}, "
        f"max_running_requests={pool.running}, context_len={args.context or context_tokens}"
    )
