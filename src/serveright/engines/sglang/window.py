"""Window tokens that running requests hold live at most: pool_configurator.py compute_swa_request_cap, allocation_sizing.py."""

from math import ceil

from serveright.engines.sglang.args import Args, Situation

_SMALL_BATCH = 32
"""Requests up to which a decode worker keeps room for twice as many that arrive (arg_groups/pd_disaggregation_hook.py:133)."""


def request_cap(args: Args, at: Situation, window: int) -> int:
    """Slots of the window pool for `max_running` requests, chunks in flight included. Needs --max-running-requests."""
    page = args.page or 1
    drafts = (args.draft_tokens or 1) if args.algorithm is not None else 1
    live = window + max(1, at.behaviour.constants.window_eviction_tokens) * drafts + page
    per_request = live + _decode_tokens(args, page)
    requests = max(1, (args.max_running or 0) // args.attn_dp)
    if args.role == "decode":
        arriving = args.extra_slots if args.extra_slots is not None else 2 * requests if requests <= _SMALL_BATCH else 0
        return per_request * requests + (window + page) * arriving
    return per_request * requests + (2 if args.overlap else 1) * (args.chunk or 0) + page


def _decode_tokens(args: Args, page: int) -> int:
    if args.algorithm is None:
        return page
    steps, topk, drafts = args.steps or 1, args.topk or 1, args.draft_tokens or 1
    if args.overlap:
        if page == 1 or topk == 1:
            return 2 * max(steps * topk, drafts)
        pages = (page - 1 + steps + page - 1) // page
        return 2 * max(pages * page * topk, drafts)
    if page > 1:
        steps = ceil((steps + page if topk > 1 else steps) / page) * page
        drafts = ceil(drafts / page) * page
    return max(steps * topk, drafts)
