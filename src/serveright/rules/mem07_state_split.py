"""SGLang splits memory between states and cache before it knows the load.

## What it catches
A hybrid model in SGLang whose state pool caps the running requests below what was asked, or is set by hand.

## Why it matters
The split is static (ratio 0.9), states are fp32 by default and a request holds three to five slots; requests queue while the KV pool is a third full.

## Example
Qwen3-Next at TP 4: concurrency far below what the KV cache holds; `--max-mamba-cache-size 40` for 10 requests of 5 slots is 8.

## Fix
`--mamba-ssm-dtype bfloat16`, `--mamba-full-memory-ratio`, or `--max-mamba-cache-size` = requests x slots.

## Versions
SGLang since 0.5.4.

## Sources
SGLang configs/mamba_utils.py, model_executor/pool_configurator.py; github.com/sgl-project/sglang/issues/15337, 30160
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM07"
NAME = "state-split"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4", gpu="4xh100"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4", gpu="4xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """What binds, and which knob moves it."""
    if context.vllm or not context.hybrid:
        return
    sized = context.sized
    asked = context.settings.max_num_seqs
    slots = context.integer("--max-mamba-cache-size")
    if slots is not None:
        yield Hit(
            message=msg("--max-mamba-cache-size {slots} counts slots, not requests: a request holds three to five", slots=slots),
            why=msg("the cap is slots divided by slots per request; requests queue with free cache"),
            fix=msg("Set it to requests times slots per request."),
            flag="--max-mamba-cache-size",
        )
        return
    capped = asked is not None and sized is not None and sized.resolved.max_num_seqs < asked
    if sized is None or (sized.capacity.limited_by != "state_slots" and not capped):
        if asked is None or sized is None:
            yield Hit(
                message=msg("states and cache are split at a fixed ratio before the load is known"),
                why=msg("fp32 states and three to five slots a request can cap concurrency far below the cache"),
                fix=msg("Consider --mamba-ssm-dtype bfloat16 and --mamba-full-memory-ratio."),
                confidence="possible",
            )
        return
    smaller = context.what_if(state_dtype="bfloat16")
    numbers = msg("{now:n} requests by states", now=sized.resolved.max_num_seqs)
    if smaller is not None:
        numbers = msg("{now:n} requests by states; {then:n} with bfloat16 states", now=sized.resolved.max_num_seqs, then=smaller.resolved.max_num_seqs)
    yield Hit(
        message=msg("recurrent states, not the cache, bound the running requests"),
        why=numbers,
        fix=msg("Consider --mamba-ssm-dtype bfloat16, --mamba-full-memory-ratio, a shorter --context-length."),
        flag="--max-running-requests" if asked else None,
    )
