"""The figures of step 2 that no engine's own code derives: weights and overhead by part, what one request is charged, tokens and users in all."""

from collections.abc import Iterator, Mapping
from math import floor

from serveright.types.derivation import Derivation
from serveright.types.engine import Sized
from serveright.types.model import Part
from serveright.types.text import msg


def account(sized: Sized, weights: Mapping[Part, int]) -> Iterator[Derivation]:
    """`weights`: bytes by part on the fullest GPU. Only figures whose arithmetic is this short are shown; the engines show the rest."""
    memory = sized.memory
    if weights and sum(weights.values()) == memory.weights_bytes:
        parts = {str(part): size for part, size in weights.items()}
        reason = msg("bytes by part on the fullest GPU: each is cut by its own rule, and copied where it cannot be cut")
        yield Derivation("weights_bytes", " + ".join(parts), dict(parts), memory.weights_bytes, "B", reason)
    if memory.overhead_parts and sum(memory.overhead_parts.values()) == memory.overhead_bytes:
        reason = msg("what start-up takes beside weights and cache, by part; fitted, so it has a range")
        taken = {name: size for name, size in memory.overhead_parts.items() if size} or memory.overhead_parts
        yield Derivation("overhead_bytes", " + ".join(taken), dict(taken), memory.overhead_bytes, "B", reason)
    yield from _fixed(sized)
    yield from _request(sized)
    yield from _held(sized)


def _fixed(sized: Sized) -> Iterator[Derivation]:
    layout = sized.layout
    slots, size = layout.state_slots_per_request, layout.state_bytes_per_slot
    if slots and slots * size == layout.fixed_bytes_per_sequence:
        reason = msg("states that a request holds, one slot each, whatever its length")
        yield Derivation("fixed_bytes_per_sequence", "slots * slot_bytes", {"slots": slots, "slot_bytes": size}, slots * size, "B", reason)


def _request(sized: Sized) -> Iterator[Derivation]:
    layout, capacity = sized.layout, sized.capacity
    block, whole = layout.pool_bytes_per_block, capacity.request_bytes
    if sized.resolved.engine == "vllm":
        if block and whole % block == 0 and whole:
            values: dict[str, int | float] = {"blocks_per_request": whole // block, "pool_bytes_per_block": block}
            reason = msg("a request of {n:n} tokens takes whole blocks in every group", n=capacity.context_tokens)
            yield Derivation("request_bytes", "blocks_per_request * pool_bytes_per_block", values, whole, "B", reason)
        return
    held = -(-capacity.context_tokens // layout.block_tokens) * layout.block_tokens
    grown = held * layout.padded_bytes_per_token + layout.fixed_bytes_per_sequence
    window = whole - floor(grown)
    values = {"tokens": held, "bytes_per_token": layout.padded_bytes_per_token, "fixed_bytes": layout.fixed_bytes_per_sequence, "window_bytes": window}
    reason = msg("rows of {n:n} tokens (whole pages), the window it holds at most, and its states", n=held)
    yield Derivation("request_bytes", "floor(tokens * bytes_per_token + fixed_bytes) + window_bytes", values, whole, "B", reason)


def _held(sized: Sized) -> Iterator[Derivation]:
    capacity, parallel = sized.capacity, sized.settings.parallel
    held = -(-capacity.context_tokens // sized.layout.block_tokens) * sized.layout.block_tokens
    rank, tokens = capacity.per_rank_concurrency, capacity.per_rank_tokens
    if sized.resolved.engine == "vllm":
        if tokens == int(rank * capacity.context_tokens) and tokens:
            values = {"max_concurrency": rank, "context_tokens": capacity.context_tokens}
            yield Derivation(
                "tokens", "floor(max_concurrency * context_tokens)", values, tokens, "tokens", msg("the engine reports its pool as requests of that length")
            )
    elif capacity.limited_by == "memory" and rank == tokens / held:
        yield Derivation(
            "max_concurrency",
            "tokens / held_tokens",
            {"tokens": tokens, "held_tokens": held},
            rank,
            "requests",
            msg("requests of that length in one rank's pool"),
        )
    elif capacity.limited_by == "max_num_seqs":
        reason = msg("the limit on running requests binds before the pool does")
        yield Derivation("max_concurrency", "running_requests", {"running_requests": rank}, rank, "requests", reason)
    copies = {"ranks": parallel.dp, "replicas": parallel.replicas}
    if parallel.dp * parallel.replicas > 1:
        users = capacity.max_concurrency * parallel.replicas
        reason = msg("all ranks and copies together")
        yield Derivation("users", "per_rank * ranks * replicas", {"per_rank": capacity.max_concurrency / parallel.dp, **copies}, users, "requests", reason)
        yield Derivation("tokens_in_all", "per_rank * ranks * replicas", {"per_rank": tokens, **copies}, capacity.tokens * parallel.replicas, "tokens", reason)
