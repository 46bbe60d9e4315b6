"""Sequence and token limits between the sizes graphs exist for.

## What it catches
`--max-num-seqs` that is no multiple of 8 (16 above 256), budgets no multiple of 16.

## Why it matters
A full batch is padded to the next graph, or falls off the last one: a cliff exactly at full load.

## Example
`--max-num-seqs 250`.

## Fix
Round to the grid.

## Versions
vLLM up to 0.29.

## Sources
vLLM config/compilation.py capture sizes
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PERF03"
NAME = "off-the-graph-grid"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --max-num-seqs 250", version="0.20.0"),
    good("vllm serve Qwen/Qwen3-8B --max-num-seqs 256", version="0.20.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Limits off the grid on releases with that grid."""
    if not context.vllm or not context.between(None, "0.30.0") or context.command.engine_version is None or context.settings.eager:
        return
    sequences = context.settings.max_num_seqs
    if sequences is not None and sequences > 8 and sequences % (16 if sequences > 256 else 8):
        step = 16 if sequences > 256 else 8
        yield Hit(
            message=msg("--max-num-seqs {value} lies between graph sizes", value=sequences),
            why=msg("a full batch is padded or leaves the graphs"),
            fix=msg("Use {value}.", value=sequences // step * step),
            flag="--max-num-seqs",
            edits=(Edit("--max-num-seqs", str(sequences // step * step), safe=False),),
        )
    budget = context.settings.token_budget
    if budget is not None and budget % 16:
        yield Hit(
            message=msg("--max-num-batched-tokens {value} is no multiple of 16", value=budget),
            why=msg("kernels work on tiles of 16"),
            fix=msg("Use {value}.", value=budget // 16 * 16),
            flag="--max-num-batched-tokens",
        )
