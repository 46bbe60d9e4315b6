"""Is a long shared prefix cached, and is a greedy answer the same with and without it?"""

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("the same long prompt twice, 16 tokens of answer each")
BLOCKS = 2.5
"""Prompt length in blocks: hybrids hit whole blocks only, and short prompts make a working cache look dead."""
LONGEST = 24_000


def prompt_tokens(block: float, limit: int | None) -> int:
    """Length of the shared prompt for a block size, below the server's limit."""
    wanted = max(1024, int(BLOCKS * block))
    return max(64, min(wanted, LONGEST, int((limit or LONGEST) * 0.8)))


def run(server: Server, block_tokens: float = 16) -> tuple[ProbeResult, ProbeResult]:
    """(cached?, repeatable?)."""
    length = prompt_tokens(block_tokens, server.max_tokens)
    prompt = [3 + (7 * i + i // 11) % 400 for i in range(length)]
    first, second = (server.complete(prompt, 16) for _ in range(2))
    if first.status != 200 or second.status != 200:
        refused = msg("refused: {words}", words=(first.error or second.error)[:200])
        return tuple(ProbeResult(name=name, sent=SENDS, verdict="unknown", text=refused) for name in ("prefix", "repeatable"))  # pyright: ignore[reportReturnType]
    return _cached(second.cached_tokens, length, block_tokens, first.first_s, second.first_s), _same(first.text, second.text)


def _cached(cached: int | None, length: int, block: float, cold_s: float, warm_s: float) -> ProbeResult:
    if cached is None:  # the server does not say: a much earlier first token tells
        if cold_s > 0.2 and warm_s < 0.5 * cold_s:
            return ProbeResult(name="prefix", sent=SENDS, verdict="good", text=msg("first token after {warm:s} instead of {cold:s}", warm=warm_s, cold=cold_s))
        return ProbeResult(name="prefix", sent=SENDS, verdict="unknown", text=msg("the server reports no cached tokens (--enable-prompt-tokens-details)"))
    if cached > 0:
        return ProbeResult(
            name="prefix", sent=SENDS, verdict="good", text=msg("{cached:n} of {length:n} tokens came from the cache", cached=cached, length=length)
        )
    text = msg("nothing of {length:n} tokens came from the cache (blocks of {block:n})", length=length, block=block)
    return ProbeResult(
        name="prefix", sent=SENDS, verdict="bad" if length > block else "unknown", text=text, sign="probe:prefix_not_cached" if length > block else None
    )


def _same(first: str, second: str) -> ProbeResult:
    if first == second:
        return ProbeResult(name="repeatable", sent=SENDS, verdict="good", text=msg("both answers are the same"))
    return ProbeResult(
        name="repeatable", sent=SENDS, verdict="bad", text=msg("greedy answers differ between a cold and a warm cache"), sign="probe:not_repeatable"
    )  # fmt: skip
