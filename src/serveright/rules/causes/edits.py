"""Repairs whose numbers only the engine's own words hold: from a sign to an edit of the command."""

from collections.abc import Iterable, Iterator

from serveright.analysis.given import Given
from serveright.types.diagnosis import Cause, Sign
from serveright.types.report import Edit

MARGIN = 0.98
"""Of a limit the engine printed: identical starts differ by about one per cent."""


def edits_from(causes: Iterable[Cause], signs: Iterable[Sign], given: Given) -> Iterator[Edit]:
    """Edits for the causes named, where a sign states the number."""
    by_key = {sign.key: sign for sign in signs}
    for cause in causes:
        if cause.code == "MEM02":
            yield from _length(by_key, given)
        elif cause.code == "MEM01" and (blocks := _number(by_key, "log:state_blocks_exceeded", "blocks")):
            yield Edit("--max-num-seqs", str(int(blocks)))
        elif cause.code == "MEM05" and (share := _number(by_key, "log:graph_share_hint", "share")):
            yield Edit("--gpu-memory-utilization", f"{share:.4g}")
        elif cause.code == "HYB04" and (block := _number(by_key, "log:budget_below_block", "block")):
            yield Edit("--max-num-batched-tokens", str(2 * int(block)))
        elif cause.code == "MEM08":
            yield from _share(by_key)
        elif cause.code == "PERF06" and given.vllm:
            yield from _fewer(by_key, given)
        elif cause.code == "PERF02" and (cap := given.integer("--max-running-requests")):
            yield Edit("--cuda-graph-max-bs-decode" if "--cuda-graph-max-bs-decode" in _known(given) else "--cuda-graph-max-bs", str(cap))
        elif cause.code == "VER01":
            yield from _unknown(by_key, given)
        elif cause.code in ("ARCH04", "ARCH07", "OVR03", "ARCH03"):
            yield from (Edit(flag.written, None) for flag in given.flags("--attention-backend"))
        elif cause.code == "HYB01":
            yield Edit("--enable-prefix-caching", "")
        elif cause.code == "PERF01":
            yield from (Edit(flag.written, None) for flag in given.flags("--enforce-eager", "--disable-cuda-graph"))


def _number(signs: dict[str, Sign], key: str, name: str) -> float | None:
    value = signs[key].numbers.get(name) if key in signs else None
    return value if isinstance(value, float) else None


def _known(given: Given) -> set[str]:
    return {flag.name for flag in given.table.flags}


def _length(signs: dict[str, Sign], given: Given) -> Iterator[Edit]:
    longest = _number(signs, "log:kv_one_request", "max_length")
    if longest:
        yield Edit("--max-model-len" if given.vllm else "--context-length", str(int(longest * MARGIN) // 16 * 16))


def _share(signs: dict[str, Sign]) -> Iterator[Edit]:
    free, total = (_number(signs, "log:free_below_share", name) for name in ("free_gib", "total_gib"))
    if free and total and free / total > 0.3:
        yield Edit("--gpu-memory-utilization", f"{int(free / total * MARGIN * 100) / 100:g}")


def _fewer(signs: dict[str, Sign], given: Given) -> Iterator[Edit]:
    """As many sequences as the pool was seen to hold at its own full length, when that is fewer than allowed."""
    room = _number(signs, "log:kv_tokens", "concurrency") or _number(signs, "log:concurrency", "concurrency")
    allowed = given.integer("--max-num-seqs")
    if room and room >= 1 and (allowed is None or allowed > room):
        yield Edit("--max-num-seqs", str(max(1, int(room))))


def _unknown(signs: dict[str, Sign], given: Given) -> Iterator[Edit]:
    words = str(signs["log:unknown_flag"].numbers.get("words", "")).split() if "log:unknown_flag" in signs else []
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("-") and any(flag.written == name for flag in given.command.flags):
            yield Edit(name, None)
