"""CUDA graphs do not cover the batches speculation makes.

## What it catches
`max_num_seqs` x (1 + drafted tokens) beyond the largest captured batch.

## Why it matters
Decode falls to eager mode exactly under load.

## Example
512 sequences with 3 drafted tokens: 2048 rows; graphs up to 512.

## Fix
Raise the capture size, or lower the sequences.

## Versions
vLLM (default largest capture 512).

## Sources
vLLM config/vllm.py cudagraph sizes
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SPEC05"
NAME = "graphs-below-draft-batches"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad(
        'vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --max-num-seqs 512 --max-cudagraph-capture-size 512 --speculative-config \'{"method":"mtp","num_speculative_tokens":3}\''
    ),
    good(
        'vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --max-num-seqs 64 --max-cudagraph-capture-size 512 --speculative-config \'{"method":"mtp","num_speculative_tokens":3}\''
    ),
)


def check(context: Context) -> Iterator[Hit]:
    """Rows of a full batch against the capture size."""
    speculation = context.speculation
    if not context.vllm or speculation is None or context.settings.eager:
        return
    sequences = context.settings.max_num_seqs
    largest = context.settings.max_graph_batch
    if sequences is None or largest is None:
        return
    rows = sequences * (1 + max(1, speculation[1]))
    if rows <= largest:
        return
    yield Hit(
        message=msg(
            "a full batch is {rows} rows ({sequences} x {each}); graphs reach {largest}",
            rows=rows,
            sequences=sequences,
            each=1 + max(1, speculation[1]),
            largest=largest,
        ),
        why=msg("beyond the largest graph decode runs eagerly"),
        fix=msg("Raise --max-cudagraph-capture-size to {rows}, or lower --max-num-seqs.", rows=rows),
        flag="--max-num-seqs",
    )
