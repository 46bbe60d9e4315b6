"""Numbers that must agree when prefixes are cached: the engine's block, LMCache's chunk, the token budget, and the shortest prefix that can hit."""

from math import lcm

from msgspec import Struct

from serveright.types.engine import Sized
from serveright.types.model import ModelShape, Recurrent
from serveright.types.text import Msg, msg

LMCACHE_DEFAULT_CHUNK = 256
"""LMCache 0.5.6, v1/config.py `chunk_size`."""
_STATE_GRID = 64
"""Tokens of one chunk of the delta-rule kernels when the config names none (SGLang 0.5.23, configs/mamba_utils.py)."""


class Alignment(Struct, frozen=True, kw_only=True):
    """`block_tokens`: a prefix is reused in whole blocks of so many tokens. `lmcache_chunk_tokens`: smallest chunk >= the default that every group divides.

    `least_token_budget`: a step must be able to fill one block. `shortest_prefix_tokens`: below it nothing can be reused.
    """

    block_tokens: int
    lmcache_chunk_tokens: int
    least_token_budget: int
    shortest_prefix_tokens: int
    prefix: Msg
    tiering: Msg


def alignment(shape: ModelShape, sized: Sized) -> Alignment:
    """The numbers for one model on one engine."""
    recurrent = [m for layer in shape.layers for m in layer.mixers if isinstance(m, Recurrent)]
    block = _grid(sized, recurrent)
    chunk = block * -(-LMCACHE_DEFAULT_CHUNK // block)
    return Alignment(
        block_tokens=block,
        lmcache_chunk_tokens=chunk,
        least_token_budget=block,
        shortest_prefix_tokens=block,
        prefix=_prefix(sized, block, bool(recurrent)),
        tiering=_tiering(sized, block, chunk, bool(recurrent)),
    )


def _grid(sized: Sized, recurrent: list[Recurrent]) -> int:
    """The step in which prefixes are reused: lcm of all groups' blocks, with SGLang's state checkpoints on their own grid."""
    blocks = [group.block_tokens for group in sized.layout.groups if group.kind not in ("state", "compressor_state") and group.block_tokens > 0]
    block = lcm(sized.resolved.block_tokens, *blocks) * sized.settings.parallel.dcp
    if sized.resolved.engine == "sglang" and recurrent:
        chunks = [max(mixer.chunk_tokens or _STATE_GRID, sized.resolved.block_tokens) for mixer in recurrent]
        block = lcm(block, *chunks)
    return block


def _prefix(sized: Sized, block: int, recurrent: bool) -> Msg:
    resolved = sized.resolved
    if not resolved.prefix_caching:
        return msg("prefix caching is off by default for this model in this version")
    if not recurrent:
        return msg("prefix caching is on; prefixes are reused in steps of {n:n} tokens", n=block)
    return msg(
        "prefix caching is on in mode {mode}: a state is kept only every {n:n} tokens, so a shared prefix below {n:n} tokens never hits; a step must hold {n:n} tokens",
        mode=resolved.state_mode or "default",
        n=block,
    )


def _tiering(sized: Sized, block: int, chunk: int, recurrent: bool) -> Msg:
    if sized.resolved.engine == "sglang":
        if sized.settings.parallel.dp > 1 or sized.settings.speculative_tokens or sized.settings.parallel.dcp > 1:
            return msg("LMCache refuses DP attention, speculation and DCP in SGLang; HiCache (--enable-hierarchical-cache) remains")
        return msg(
            "LMCache (multiprocess server) with --chunk-size {chunk}, a multiple of {n} tokens; HiCache is the built-in alternative", chunk=chunk, n=block
        )
    if recurrent and sized.resolved.state_mode == "none":
        return msg("LMCache refuses state layers in mode none; turn prefix caching on")
    if len({group.kind for group in sized.layout.groups}) > 1:
        return msg(
            "LMCacheMPConnector with `lmcache server --chunk-size {chunk}`: every group's block ({n} tokens) must divide it, and an upgrade that changes the block empties the tier",
            chunk=chunk,
            n=block,
        )
    return msg("LMCache works with its default chunk of {chunk} tokens", chunk=chunk)
