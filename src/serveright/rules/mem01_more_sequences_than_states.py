"""More sequences are allowed than recurrent states fit.

## What it catches
A hybrid model (gated delta, Mamba, KDA) whose `max_num_seqs`, given or default, exceeds what the pool can hold states for.

## Why it matters
vLLM refuses after the weights are loaded, minutes lost per try; before 0.19 the overflow surfaced as "device kernel image is invalid" in graph capture.
SGLang caps the running requests silently.

## Example
Qwen3.8-27B on one H100 with the default of 1024 sequences.

## Fix
`--max-num-seqs` below the number in the finding.

## Versions
vLLM explicit since about 0.19; the default is 1024 on GPUs of 70 GiB and more, 256 below.

## Sources
vLLM config/compilation.py: "max_num_seqs exceeds available Mamba cache blocks"; github.com/vllm-project/vllm/issues/49064; github.com/vllm-project/recipes/pull/551; vLLM engine/arg_utils.py get_batch_defaults
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "MEM01"
NAME = "more-sequences-than-states"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3.5-27B --max-model-len 131072 --gpu-memory-utilization 0.9", gpu="1xh100"),
    good("vllm serve Qwen/Qwen3.5-27B --max-model-len 131072 --gpu-memory-utilization 0.9 --max-num-seqs 32", gpu="1xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """Slots of the pool against the cap; without sizing, a hint where the default stands."""
    if not context.hybrid:
        return
    sized = context.sized
    asked = context.settings.max_num_seqs
    if sized is None:
        if asked is None and context.vllm:
            yield Hit(
                message=msg("max_num_seqs is left at its default on a hybrid model"),
                why=msg("every decoding sequence needs a recurrent state block; the default (1024 on large GPUs) can exceed the pool"),
                fix=msg("Give the GPU to have it computed, or set --max-num-seqs."),
                flag="--max-num-seqs",
                severity="note",
                confidence="possible",
            )
        return
    slots = state_room(context)
    cap = sized.resolved.max_num_seqs
    if slots is None or slots >= cap or sized.memory.kv_pool_bytes <= 0 or (context.vllm and context.settings.eager):
        return
    close = slots > cap * 0.93  # start-ups of one command differ by some percent
    yield Hit(
        message=msg("max_num_seqs {cap} exceeds the {slots} sequences whose states fit", cap=cap, slots=slots),
        why=msg(
            "{pool:gib} of cache are {slots} blocks, and graph capture wants one block for every sequence; vLLM refuses after loading the weights",
            pool=sized.memory.kv_pool_bytes,
            slots=slots,
        )
        if context.vllm
        else msg("SGLang caps the running requests at {slots}", slots=slots),
        fix=msg("Add --max-num-seqs {slots} or less.", slots=slots)
        if context.vllm
        else msg("Shrink the state (--mamba-ssm-dtype bfloat16) or give it more memory (--mamba-full-memory-ratio)."),
        flag="--max-num-seqs" if context.vllm else "--max-running-requests",
        edits=(Edit("--max-num-seqs", str(max(1, slots)), safe=False),) if context.vllm else (),
        severity="note" if not context.vllm else "warning" if close else None,
        effect=None if context.vllm else "capacity",
        confidence="possible" if close else None,
    )


def state_room(context: Context) -> int | None:
    """Sequences whose states fit one rank: vLLM asks for one block of the pool each, SGLang for several slots."""
    sized = context.sized
    if sized is None:
        return None
    if context.vllm:
        return sized.memory.kv_pool_bytes // sized.layout.pool_bytes_per_block if sized.layout.pool_bytes_per_block else None
    slots = sized.capacity.state_slots
    return None if slots is None else slots // max(1, sized.layout.state_slots_per_request)
