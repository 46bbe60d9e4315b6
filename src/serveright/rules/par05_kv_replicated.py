"""The cache is copied onto every shard instead of being split.

## What it catches
Latent attention (one row for all heads), or fewer KV heads than shards, under plain tensor parallelism.

## Why it matters
Every GPU stores the same rows: the deployment holds no more tokens than one GPU's pool. Attention parallel over data, or decode context parallelism, multiplies it.

## Example
DeepSeek-V3 at TP 8: eight copies of each latent row.

## Fix
SGLang `--dp-size N --enable-dp-attention`; vLLM `--data-parallel-size N --enable-expert-parallel`, or `--decode-context-parallel-size`. For short, few requests plain TP stays right.
Not where weights plus a full copy of attention per rank do not fit.

## Versions
DCP: vLLM since 0.11. DP attention: SGLang since 0.3.6.

## Sources
github.com/vllm-project/vllm/issues/51454; vLLM config/model.py get_num_kv_heads
"""

from collections.abc import Iterator

from msgspec.structs import replace

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import attention_name
from serveright.rules.registry import bad, good
from serveright.types.engine import Parallel
from serveright.types.text import Msg, msg

CODE = "PAR05"
NAME = "kv-replicated"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 8", gpu="8xh200"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 1 -dp 8 --enable-expert-parallel", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Copies of a row on the shards of one rank."""
    layout = context.layout
    if layout.tp == 1 or layout.dcp > 1:
        return
    kv_heads = 1 if context.latent else min((mixer.kv_heads for mixer in context.attention), default=0)
    if not kv_heads or kv_heads >= layout.tp or layout.tp % kv_heads:
        return
    copies = layout.tp // kv_heads
    now = context.sized
    spread = context.what_if(parallel=_spread(context, copies))
    numbers = None
    if now is not None and spread is not None and spread.fits:
        numbers = msg(
            "{now:n} tokens of cache as written, {spread:n} with {copies} attention ranks",
            now=now.capacity.tokens,
            spread=spread.capacity.tokens,
            copies=copies,
        )
    yield Hit(
        message=msg("every row of the cache is stored {copies} times over {tp} shards", copies=copies, tp=layout.tp),
        why=numbers or msg("{name} has {heads} KV head(s) to split; further shards hold copies", name=attention_name(context), heads=kv_heads),
        fix=_fix(context, copies),
        flag="--tensor-parallel-size",
    )


def _fix(context: Context, copies: int) -> Msg:
    """Attention ranks instead of copies; a dense model's ranks are copies of it, and expert parallelism is refused there."""
    if not context.vllm:
        return msg("For many or long requests: --dp-size {copies} --enable-dp-attention (keeping --tp-size).", copies=copies)
    tp = context.layout.tp // copies
    if not context.moe:
        return msg(
            "For many or long requests: {copies} copies of the server with --tensor-parallel-size {tp}, or --decode-context-parallel-size {copies}.",
            copies=copies,
            tp=tp,
        )
    return msg(
        "For many or long requests: --data-parallel-size {copies} --enable-expert-parallel with --tensor-parallel-size {tp}, or --decode-context-parallel-size {copies}.",
        copies=copies,
        tp=tp,
    )


def _spread(context: Context, copies: int) -> Parallel:
    """The same GPUs with the copies turned into attention ranks."""
    layout = context.layout
    gpus = layout.tp * layout.dp
    return replace(layout, tp=max(1, layout.tp // copies), dp=layout.dp * copies, ep=gpus if context.moe else 1)
