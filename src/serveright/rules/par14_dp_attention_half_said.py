"""Data parallelism for attention is said by half.

## What it catches
SGLang `--dp-size N` without `--enable-dp-attention` for a latent-attention model, or a TP that the ranks do not divide; vLLM `--data-parallel-size` on a mixture of experts without expert parallelism.

## Why it matters
Without the switch, N whole copies of the model are started: N x TP GPUs. In vLLM experts are then sliced over all ranks.

## Example
`--tp 8 --dp 8` for DeepSeek-V3 asks for 64 GPUs.

## Fix
Add `--enable-dp-attention` (0.5.22 on: `--attn-dp-size N`).

## Versions
`--enable-dp-attention` is deprecated in SGLang 0.5.22 and rewritten to `--attn-dp-size`.

## Sources
SGLang arg_groups/parallel_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR14"
NAME = "dp-attention-half-said"
SEVERITY = "warning"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8", gpu="8xh200"),
    good("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Ranks that do not divide, copies nobody meant."""
    if context.vllm:
        return
    ranks = context.dp_attention
    if ranks > 1 and context.tp_flag % ranks:
        yield Hit(
            message=msg("{ranks} attention ranks do not divide {tp} shards", ranks=ranks, tp=context.tp_flag),
            why=msg("each rank takes tp / dp shards: the engine refuses"),
            fix=msg("Use a divisor of --tp-size."),
            flag="--dp-size",
            severity="error",
            effect="crash",
            confidence="certain",
        )
    copies = context.layout.replicas
    total = context.tp_flag * copies
    if copies > 1 and context.latent and (context.gpus is None or total > context.gpus):
        yield Hit(
            message=msg("--dp-size {copies} starts {copies} copies of the model: {total} GPUs", copies=copies, total=total),
            why=msg("without --enable-dp-attention data parallelism copies everything, not attention alone"),
            fix=msg("Add --enable-dp-attention.") if not context.since("0.5.22") else msg("Use --attn-dp-size {copies} instead of --dp-size.", copies=copies),
            flag="--dp-size",
        )
