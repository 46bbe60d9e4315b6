"""Repairs whose numbers only the engine's own words hold: from a sign to an edit of the command."""

import re
from collections.abc import Iterable, Iterator

from serveright.rules.context import Context
from serveright.types.diagnosis import Cause, Sign
from serveright.types.engine import Parallel
from serveright.types.report import Edit

MARGIN = 0.98
"""Of a limit the engine printed: identical starts differ by about one per cent."""


ROOM = 0.9
"""Of the requests that ran while some were thrown out of a full cache."""
CAREFUL = 1.3
"""What SGLang's tuning guide names where requests are retracted often."""


RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Sizes vLLM reserves for adapters (vllm/config/lora.py)."""


def edits_from(causes: Iterable[Cause], signs: Iterable[Sign], given: Context) -> Iterator[Edit]:
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
        elif cause.code == "PERF06":
            yield Edit("--schedule-conservativeness", None if (given.number("--schedule-conservativeness") or 1) < 1 else f"{CAREFUL:g}")
        elif cause.code in ("MEM04", "MEM06", "MEM16") and not given.vllm:
            yield from (Edit(flag.written, None) for flag in given.flags("--mem-fraction-static"))  # SGLang reserves by GPU and batch when it is left out
        elif cause.code == "PERF02" and (cap := given.integer("--max-running-requests")):
            yield Edit("--cuda-graph-max-bs-decode" if "--cuda-graph-max-bs-decode" in _known(given) else "--cuda-graph-max-bs", str(cap))
        elif cause.code == "VER01":
            yield from _unknown(by_key, given)
        elif cause.code in ("ARCH04", "ARCH07", "OVR03", "ARCH03"):
            yield from (Edit(flag.written, None) for flag in given.flags("--attention-backend"))
        elif cause.code == "MEM13" and given.vllm:
            yield from _fewer(by_key, given)
        elif cause.code == "MEM07" and "--mamba-ssm-dtype" in _known(given):
            yield Edit("--mamba-ssm-dtype", "bfloat16")
        elif cause.code == "PAR05":
            yield from _attention_ranks(given)
        elif cause.code == "HYB01":
            yield Edit("--enable-prefix-caching", "")
        elif cause.code == "PERF01":
            yield from (Edit(flag.written, None) for flag in given.flags("--enforce-eager", "--disable-cuda-graph"))

        else:
            yield from _told(cause, by_key, given)


def _told(cause: Cause, by_key: dict[str, Sign], given: Context) -> Iterator[Edit]:
    """Edits where the engine's message itself names the flag or its number."""
    if cause.code == "CFG01":
        yield from _named(by_key, given)
    elif cause.code == "LORA01" and (rank := _number(by_key, "log:lora_rank", "rank")):
        yield Edit("--max-lora-rank", str(next((size for size in RANKS if size >= rank), int(rank))))
    elif cause.code == "MM02" and given.vllm and (tokens := _number(by_key, "log:mm_budget", "tokens")):
        yield Edit("--max-num-batched-tokens", str(-(-int(tokens) // 256) * 256))
    elif cause.code in ("KV02", "KV03", "KV04"):
        yield from (Edit(flag.written, None) for flag in given.flags("--kv-cache-dtype"))
    elif cause.code == "DX16":
        yield from (Edit(flag.written, None) for flag in given.flags("--quantization", "-q"))


def _number(signs: dict[str, Sign], key: str, name: str) -> float | None:
    value = signs[key].numbers.get(name) if key in signs else None
    return value if isinstance(value, float) else None


def _known(given: Context) -> set[str]:
    return {flag.name for flag in given.table.flags}


def _named(signs: dict[str, Sign], given: Context) -> Iterator[Edit]:
    """The one flag of the command that the engine's message names goes; where it names several, a person must choose."""
    text = str(signs["log:refused_settings"].text) if "log:refused_settings" in signs else ""
    words = set(re.findall(r"[\w-]+", text.replace("-", "_")))
    named = [flag for flag in given.command.flags if flag.written.lstrip("-").replace("-", "_") in words]
    if len(named) == 1:
        yield Edit(named[0].written, None)


def _length(signs: dict[str, Sign], given: Context) -> Iterator[Edit]:
    longest = _number(signs, "log:kv_one_request", "max_length")
    if longest:
        yield Edit("--max-model-len" if given.vllm else "--context-length", str(int(longest * MARGIN) // 16 * 16))


def _share(signs: dict[str, Sign]) -> Iterator[Edit]:
    free, total = (_number(signs, "log:free_below_share", name) for name in ("free_gib", "total_gib"))
    if free and total and free / total > 0.3:
        yield Edit("--gpu-memory-utilization", f"{int(free / total * MARGIN * 100) / 100:g}")


def _fewer(signs: dict[str, Sign], given: Context) -> Iterator[Edit]:
    """As many sequences as the pool was seen to hold: of full length as the log says, or fewer than ran when requests were thrown out."""
    room = _number(signs, "log:kv_tokens", "concurrency") or _number(signs, "log:concurrency", "concurrency")
    if (running := _number(signs, "metrics:preempting", "running")) and running > 1:
        room = max(room or 0, ROOM * running)
    allowed = given.integer("--max-num-seqs")
    if room and room >= 1 and (allowed is None or allowed > room):
        yield Edit("--max-num-seqs", str(max(1, int(room))))


def _attention_ranks(given: Context) -> Iterator[Edit]:
    """Tensor ranks become data-parallel attention ranks, where the engine's own arithmetic says that weights and cache then still fit."""
    before = given.parallel
    ranks = before.tp
    after = given.what_if(parallel=Parallel(tp=1, pp=before.pp, dp=ranks, ep=ranks))
    flag = given.flag("--tensor-parallel-size", "--tp-size")
    if flag is None or before.dp > 1 or not given.moe or after is None or not after.fits:
        return
    if given.vllm:
        yield Edit(flag.written, "1")
        yield Edit("--data-parallel-size", str(ranks))
        yield Edit("--enable-expert-parallel", "")
    else:
        yield Edit("--dp-size", str(ranks))
        yield Edit("--enable-dp-attention", "")


def _unknown(signs: dict[str, Sign], given: Context) -> Iterator[Edit]:
    words = str(signs["log:unknown_flag"].numbers.get("words", "")).split() if "log:unknown_flag" in signs else []
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("-") and any(flag.written == name for flag in given.command.flags):
            yield Edit(name, None)
