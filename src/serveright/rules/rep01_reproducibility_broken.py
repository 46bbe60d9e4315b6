"""Reproducible output is asked for, and something else breaks it.

## What it catches
`VLLM_BATCH_INVARIANT=1`, `--enable-deterministic-inference`, a fixed seed with traffic that must be reproducible, together with prefix caching, speculation or large batches.

## Why it matters
Cache hits and batch composition change the order of sums; near ties flip. Batch-invariant kernels do not cover every path at high concurrency.

## Example
`--seed 0` and temperature 0, expecting the same text twice.

## Fix
Batch-invariant mode, no prefix cache and no speculation where bitwise equality is needed; few sequences for audits.

## Versions
vLLM `VLLM_BATCH_INVARIANT` since 0.11.1; SGLang `--enable-deterministic-inference` since 0.5.4.

## Sources
github.com/vllm-project/vllm/issues/5543, 7779, 51187
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import prefix_on
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "REP01"
NAME = "reproducibility-broken"
SEVERITY = "note"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-32B --enable-prefix-caching"),
    good("vllm serve Qwen/Qwen3-32B"),
)


def check(context: Context) -> Iterator[Hit]:
    """What is asked against what is on."""
    invariant = context.env("VLLM_BATCH_INVARIANT") == "1" or bool(context.on("--enable-deterministic-inference"))
    wanted = bool(context.facts.traffic and context.facts.traffic.reproducible)
    seeded = context.flag("--seed", "--random-seed")
    if not invariant and not wanted and seeded is None:
        return
    sequences = context.settings.max_num_seqs
    if not invariant:
        yield Hit(
            message=msg("a seed alone does not make answers repeat") if not wanted else msg("answers must repeat, and batch-invariant kernels are off"),
            why=msg("batch composition and cache hits change the order of sums; near ties flip"),
            fix=msg("Set VLLM_BATCH_INVARIANT=1.") if context.vllm else msg("Add --enable-deterministic-inference."),
            flag=seeded.written if seeded else None,
            severity="warning" if wanted else None,
        )
    if (invariant or wanted) and prefix_on(context):
        yield Hit(
            message=msg("prefix caching is on where answers must repeat"),
            why=msg("a cache hit computes the tail in another order than a cold request"),
            fix=msg("Switch it off for audits (--no-enable-prefix-caching).") if context.vllm else msg("Switch it off for audits (--disable-radix-cache)."),
            edits=(Edit("--no-enable-prefix-caching", "", safe=False),) if context.vllm and not context.has("--enable-prefix-caching") else (),
        )
    if (invariant or wanted) and context.speculation is not None:
        yield Hit(
            message=msg("speculation is on where answers must repeat"),
            why=msg("verified batches differ from plain ones in shape and order"),
            fix=msg("Drop it for audits."),
            flag="--speculative-config" if context.vllm else "--speculative-algorithm",
        )
    if invariant and (sequences is None or sequences > 16):
        yield Hit(
            message=msg("batch-invariant mode with many sequences still varies"),
            why=msg("more co-resident sequences reach kernels that are not invariant"),
            fix=msg("Use --max-num-seqs 8 for audits.") if context.vllm else msg("Use --max-running-requests 8 for audits."),
            flag="--max-num-seqs" if sequences else None,
        )
