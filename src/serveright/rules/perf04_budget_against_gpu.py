"""The prefill budget does not fit the GPU.

## What it catches
A token budget of 2048 or less on large GPUs, or 8192 and more on slow ones.

## Why it matters
Too small starves prefill; too large makes every other user wait for seconds between tokens.

## Example
`--max-num-batched-tokens 512`, an old default, on H100.

## Fix
8192 to 32768 on large GPUs for throughput, 1024 to 2048 on slow ones with streaming users.

## Versions
All; the engine's own defaults by GPU memory are good since vLLM 0.8.

## Sources
github.com/vllm-project/vllm/issues/10544; vLLM engine/arg_utils.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PERF04"
NAME = "budget-against-gpu"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B --max-num-batched-tokens 512", gpu="1xh100"),
    good("vllm serve Qwen/Qwen3-32B --max-num-batched-tokens 8192", gpu="1xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """Budget against the GPU's arithmetic."""
    yield from defect_hits(context, "PERF04")
    budget = context.settings.token_budget
    gpu = context.gpu
    if budget is None or gpu is None or context.command.role == "decode":
        return  # a decode worker prefills nothing
    flag = "--max-num-batched-tokens" if context.vllm else "--chunked-prefill-size"
    speed = gpu.flops.get("bf16") or gpu.flops.get("fp16") or 0.0
    if 0 < budget <= 2048 and speed >= 6e14:
        yield Hit(
            message=msg("{flag} {budget} on {gpu}", flag=flag, budget=budget, gpu=gpu.name),
            why=msg("a prefill step of this size leaves most of the arithmetic idle"),
            fix=msg("Drop it, or use 8192 and more for throughput."),
            flag=flag,
            edits=without(context.flag(flag), safe=False),
            severity="warning" if budget <= 1024 else None,
        )
    elif budget >= 8192 and 0 < speed < 1.7e14:
        yield Hit(
            message=msg("{flag} {budget} on {gpu}", flag=flag, budget=budget, gpu=gpu.name),
            why=msg("one prefill step of this size takes seconds here; streaming users wait for it"),
            fix=msg("Use 1024 to 2048 where users stream."),
            flag=flag,
        )
