"""The context length does not fit the cache.

## What it catches
`max_model_len` (given, or left at the model's native length) for which the pool cannot hold one request, or holds almost none.

## Why it matters
The start is refused ("To serve at least one request ..."), or one long request blocks the server for minutes.

## Example
A model with 262,144 native tokens on one 24 GB card without `--max-model-len`.

## Fix
Set the length to the need, or make room: fp8 cache, more GPUs, a smaller checkpoint.

## Versions
All. `--max-model-len auto` fits the length since vLLM 0.14.

## Sources
vLLM v1/core/kv_cache_utils.py; github.com/QwenLM/Qwen3/issues/295
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM02"
NAME = "length-does-not-fit"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --max-model-len 40960 --gpu-memory-utilization 0.8", gpu="1xrtx-4090"),
    good("vllm serve Qwen/Qwen3-8B --max-model-len 8192", gpu="1xrtx-4090"),
)


def check(context: Context) -> Iterator[Hit]:
    """One request of the length against one rank's pool."""
    sized = context.sized
    given = context.flag("--max-model-len", "--context-length")
    length = context.context_tokens or (context.shape.max_context_tokens if context.shape else None)
    if context.command.role != "aggregated" or length is None:
        return
    if sized is None:
        if given is None and length > 65536:
            yield _unset(length)
        return
    if sized.memory.weights_bytes >= sized.memory.budget_bytes or sized.memory.kv_pool_bytes <= 0:
        return  # another rule's: the weights themselves do not fit
    room = sized.capacity.per_rank_concurrency
    if room < 1:
        most = int(length * room * 0.98)
        memory = sized.memory
        shortfall = sized.capacity.request_bytes - memory.kv_pool_bytes
        # a third of what is neither weights nor cache: our estimate of it is not surer than that
        margin = room >= 0.93 or shortfall * 3 <= memory.budget_bytes - memory.weights_bytes - memory.kv_pool_bytes
        yield Hit(
            message=msg(
                "one request of {length:n} tokens needs {need:gib}; {have:gib} are left for cache",
                length=length,
                need=sized.capacity.request_bytes,
                have=sized.memory.kv_pool_bytes,
            ),
            why=msg("about {most:n} tokens fit; the engine refuses to start", most=most)
            if context.vllm
            else msg("about {most:n} tokens fit; longer requests are rejected", most=most),
            fix=msg("Set --max-model-len to the need, or make room: fp8 cache, more GPUs, a smaller checkpoint.")
            if context.vllm
            else msg("Set --context-length to the need, or make room."),
            flag="--max-model-len" if context.vllm else "--context-length",
            severity="warning" if margin or not context.vllm else None,
            effect=None if context.vllm else "capacity",
            confidence="possible" if margin else None,
        )
    elif given is None and room < 4 and length > 65536:
        yield _unset(length)


def _unset(length: int) -> Hit:
    return Hit(
        message=msg("the length is left at the model's native {length:n} tokens", length=length),
        why=msg("one huge request can fill the cache and hold everyone up; on smaller GPUs the start is refused"),
        fix=msg("Set the length your requests need."),
        severity="note",
        effect="capacity",
        confidence="possible",
    )
