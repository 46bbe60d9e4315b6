"""Decode context parallelism where the architecture does not allow it.

## What it catches
`--decode-context-parallel-size` that does not divide TP, with more ranks than copies of a KV head, or with windowed layers.

## Why it matters
The engine refuses; a sequence can only be cut where shards hold copies of the same rows.

## Example
`-tp 8 -dcp 4` on a model with 8 KV heads: no copies to cut.

## Fix
DCP up to TP / KV heads; for latent attention up to TP.

## Versions
vLLM since 0.11; in SGLang for DSA only with trtllm backends, indexer keys replicated.

## Sources
vLLM config/parallel.py and config/vllm.py; github.com/sgl-project/sglang/issues/31821
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import Msg, msg

CODE = "PAR13"
NAME = "dcp-unfit"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B -tp 8 -dcp 4", gpu="8xh200"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 -dcp 8", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The conditions in the engine's own order."""
    layout = context.layout
    dcp = layout.dcp
    if dcp == 1 or context.shape is None:
        return
    kv_heads = min((mixer.kv_heads for mixer in context.attention), default=0)
    reason: Msg | None = None
    shards = layout.tp if context.vllm else context.tp_flag
    if shards % dcp:
        reason = msg("{tp} shards do not divide by {dcp}", tp=shards, dcp=dcp)
    elif not context.latent and kv_heads and (shards <= kv_heads or dcp > shards // kv_heads):
        reason = msg("with {heads} KV heads over {tp} shards each row has {copies} copies", heads=kv_heads, tp=shards, copies=max(1, shards // kv_heads))
    elif any(mixer.window_tokens for mixer in context.attention) and context.vllm:
        reason = msg("windowed layers refuse it")
    if reason is not None:
        yield Hit(
            message=msg("--decode-context-parallel-size {dcp} cannot work here: {reason}", dcp=dcp, reason=reason),
            why=msg("a sequence is cut only where shards hold copies of the same rows"),
            fix=msg("Use at most the number of copies, or leave it out."),
            flag="--decode-context-parallel-size",
        )
    elif not context.vllm and context.dsa:
        yield Hit(
            message=msg("DCP with DSA in SGLang works with trtllm backends only; indexer keys stay replicated"),
            why=msg("other sparse backends read the whole sequence from one pool"),
            fix=msg("Leave the DSA backends at trtllm."),
            flag="--decode-context-parallel-size",
            severity="note",
            effect="capacity",
        )
