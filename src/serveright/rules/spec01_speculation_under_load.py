"""Speculative decoding where many requests run at once.

## What it catches
Speculation with a concurrency (given by traffic or by `--max-num-seqs`) beyond what it helps.

## Why it matters
Drafting pays while the GPU waits for memory. From 16 to 32 running requests on the gain shrinks to nothing or turns negative; small models lose from the start.

## Example
MTP at 128 concurrent requests.

## Fix
Off, or fewer drafted tokens; measure at the target concurrency with real prompts.

## Versions
All. SGLang caps running requests at 48 when unset.

## Sources
github.com/vllm-project/vllm/issues/39680, 47277
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SPEC01"
NAME = "speculation-under-load"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --max-num-seqs 256 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\'', gpu="8xh200"),
    good('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --max-num-seqs 8 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\'', gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Running requests against the usual break-even; tiny models apart."""
    if context.speculation is None:
        return
    traffic = context.facts.traffic
    running = traffic.concurrency if traffic and traffic.concurrency else context.settings.max_num_seqs
    need = context.facts.need
    if need is not None and need.active_elements < 2_000_000_000:
        yield Hit(
            message=msg("speculation on a model of {active:n} active parameters", active=need.active_elements),
            why=msg("the draft's fixed cost is a large part of such a short step"),
            fix=msg("Compare with speculation off."),
            flag="--speculative-config" if context.vllm else "--speculative-algorithm",
        )
        return
    if running is not None and running < 32:
        return
    yield Hit(
        message=msg("speculation with up to {running} running requests", running=running) if running else msg("speculation with no bound on running requests"),
        why=msg("drafting pays while memory is the limit; beyond 16 to 32 running requests it adds work instead"),
        fix=msg("Measure with and without at the target concurrency, on real prompts."),
        flag="--speculative-config" if context.vllm else "--speculative-algorithm",
    )
