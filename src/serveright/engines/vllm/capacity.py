"""What a pool of blocks holds: tokens, requests of a length, the line the engine will print, and its refusal when one request does not fit."""

from serveright.engines.vllm.layout import request_blocks
from serveright.engines.vllm.plan import Plan
from serveright.types.derivation import Derivation
from serveright.types.engine import Capacity, MemorySplit, Refusal
from serveright.types.text import Msg, msg
from serveright.units import GIB

_TRY = "Try increasing `gpu_memory_utilization`"


def capacity(plan: Plan, memory: MemorySplit, context_tokens: int, *, ranks: int = 1, blocks: int | None = None) -> Capacity:
    """Requests of `context_tokens` per data-parallel rank and over `ranks` ranks. `blocks` overrides the count (`--num-gpu-blocks-override`)."""
    pool, per_request = plan.pool_block_bytes, request_blocks(plan, context_tokens)
    count = blocks if blocks is not None else max(0, memory.kv_pool_bytes // pool) if pool else 0
    concurrency = count / per_request if per_request else float(plan.schedule.max_num_seqs)
    tokens = reported_tokens(plan, count, concurrency, context_tokens)
    refusals = tuple(_refusals(plan, count * pool if blocks is not None else memory.kv_pool_bytes, context_tokens, memory.excess_bytes))
    bound = min(concurrency, float(plan.schedule.max_num_seqs))
    return Capacity(
        context_tokens=context_tokens,
        tokens=tokens * ranks,
        max_concurrency=bound * ranks,
        per_rank_tokens=tokens,
        per_rank_concurrency=concurrency,
        request_bytes=per_request * pool,
        limited_by="does_not_fit" if refusals or concurrency < 1 else "max_num_seqs" if concurrency > plan.schedule.max_num_seqs else "memory",
        log_line=log_line(plan, tokens, context_tokens, concurrency),
        derivation=tuple(_derive(plan, memory, count, per_request, concurrency)) if pool and blocks is None else (),
        refusals=refusals,
    )


def reported_tokens(plan: Plan, blocks: int, concurrency: float, context_tokens: int) -> int:
    """Tokens as the version counts them: blocks dealt to groups before 0.22, requests times their length after."""
    if plan.site.behaviour.capacity_form == "blocks":
        return blocks // max(1, len(plan.whole)) * min((g.block for g in plan.whole), default=0) * plan.demand.dcp
    return int(concurrency * context_tokens)


def log_line(plan: Plan, tokens: int, context_tokens: int, concurrency: float) -> str:
    """The capacity line (two lines before 0.28) the engine prints."""
    size = f"GPU KV cache size: {tokens:,} tokens"
    many = f"Maximum concurrency for {context_tokens:,} tokens per request: {concurrency:.2f}x"
    return f"{size}, {many}" if plan.site.behaviour.log_form == "one_line" else f"{size}\n{many}"


def longest(plan: Plan, available: int, context_tokens: int) -> int:
    """The longest request that fits `available` bytes, 0 where not even one token does."""
    low, high, found = 1, context_tokens, 0
    while low <= high:
        middle = (low + high) // 2
        if request_blocks(plan, middle) * plan.pool_block_bytes <= available:
            found, low = middle, middle + 1
        else:
            high = middle - 1
    return found


def _refusals(plan: Plan, available: int, context_tokens: int, excess: int) -> list[Refusal]:
    if not plan.groups:
        return []
    usable = available - (plan.pool_block_bytes if plan.site.behaviour.null_block else 0)
    needed = request_blocks(plan, context_tokens) * plan.pool_block_bytes
    where = "v1/core/kv_cache_planning.py _check_enough_kv_cache_memory"
    if usable <= 0:
        text = f"No available memory for the cache blocks. {_TRY} when initializing the engine"
        return [Refusal(code="no_cache_memory", text=text, why=_nothing_left(available, excess), source=where)]
    if needed <= usable:
        return []
    fits = longest(plan, usable, context_tokens)
    hint = f"Based on the available memory, the estimated maximum model length is {fits}. " if fits else ""
    text = (
        f"To serve at least one request with the model's max seq len ({context_tokens}), ({round(needed / GIB, 2)} GiB KV cache is needed, "
        f"which is larger than the available KV cache memory ({round(usable / GIB, 2)} GiB). {hint}{_TRY}"
    )
    why = msg("one request of {tokens:n} tokens takes {needed:gib}, {left:gib} is there", tokens=context_tokens, needed=needed, left=usable)
    return [Refusal(code="request_does_not_fit", text=text, why=why, source=where)]


def _nothing_left(available: int, excess: int) -> Msg:
    if available <= 0 and excess:
        return msg("weights and workspace alone exceed the memory vLLM may use by {excess:gib}: nothing is left for the cache", excess=excess)
    return msg("weights and workspace leave {left:gib} for the cache", left=available)


def _derive(plan: Plan, memory: MemorySplit, blocks: int, per_request: int, concurrency: float) -> list[Derivation]:
    found = [
        Derivation(
            name="blocks",
            formula="max(0, floor(kv_pool_bytes / pool_bytes_per_block))",
            values={"kv_pool_bytes": memory.kv_pool_bytes, "pool_bytes_per_block": plan.pool_block_bytes},
            result=blocks,
            unit="blocks",
            reason=msg("whole blocks that fit the cache's share"),
            source="vLLM v1/core/kv_cache_planning.py",
        )
    ]
    if per_request:
        found.append(
            Derivation(
                name="max_concurrency",
                formula="blocks / blocks_per_request",
                values={"blocks": blocks, "blocks_per_request": per_request},
                result=concurrency,
                unit="requests",
                reason=msg("each request takes its blocks in every group"),
                source="vLLM v1/core/kv_cache_utils.py get_max_concurrency_for_kv_cache_config",
            )
        )
    return found
