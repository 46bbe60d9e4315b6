"""The cache holds far fewer full-length requests than there are sequence slots.

## What it catches
A pool that holds one to a few requests of `max_model_len` while `max_num_seqs` allows many.

## Why it matters
Slots are ceilings. Requests queue or are preempted with free slots; people then raise the wrong number.

## Example
`--max-model-len 1000000 --max-num-seqs 4` where 1.5 such requests fit.

## Fix
Lower the length to the need, use an fp8 cache, or accept queueing of the longest requests.

## Versions
All.

## Sources
vLLM admission rule (v1/core/kv_cache_planning.py)
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM13"
NAME = "slots-are-ceilings"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 4 --max-model-len 40960 --max-num-seqs 256", gpu="4xh100"),
    good("vllm serve Qwen/Qwen3-0.6B --max-model-len 2048 --max-num-seqs 64", gpu="1xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Full-length requests in one rank's pool against the slots."""
    sized = context.sized
    asked = context.settings.max_num_seqs
    if sized is None:
        long = context.context_tokens
        if asked and long and long >= 500_000:
            yield _said(long, asked)
        return
    room = sized.capacity.per_rank_concurrency
    slots = sized.resolved.max_num_seqs
    if asked is None or room < 1 or room >= slots * 0.9 or sized.capacity.limited_by == "state_slots":
        return
    yield Hit(
        message=msg(
            "{room:.1f} requests of {length:n} tokens fit; {slots} sequence slots are allowed", room=room, length=sized.capacity.context_tokens, slots=slots
        ),
        why=msg("slots are ceilings: long requests queue or are preempted while slots are free; {request:gib} a request", request=sized.capacity.request_bytes),
        fix=msg("Lower the length to the need, or use an fp8 cache; raising the slots does nothing."),
        flag="--max-num-seqs" if context.vllm else "--max-running-requests",
    )


def _said(length: int, slots: int) -> Hit:
    return Hit(
        message=msg("{slots} slots of {length:n} tokens are ceilings, not reservations", slots=slots, length=length),
        why=msg("the pool decides how many such requests run at once; give the GPU to have it computed"),
        flag="--max-num-seqs",
        confidence="possible",
    )
