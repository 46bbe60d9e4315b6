"""FlashInfer's workspace is too small for this model and batch.

## What it catches
FLASHINFER attention (forced, or the engine's choice) with heads x tokens x head size beyond the fixed workspace of the release.

## Why it matters
"Buffer overflow when allocating memory for batch_prefill_tmp_v" in capture or at the first long prefill, while memory is free: it looks like OOM and is not.

## Example
A forced FLASHINFER with 8192-token chunks on a wide model; SGLang's deterministic mode.

## Fix
`VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE`, `SGLANG_FLASHINFER_WORKSPACE_SIZE`, a smaller chunk, or drop the forced backend.

## Versions
vLLM before about 0.26 (256 MiB up to 0.10, 394 MiB later), SGLang up to 0.5.20.

## Sources
github.com/vllm-project/vllm/issues/25342, 48428; github.com/sgl-project/sglang/issues/30244
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM12"
NAME = "flashinfer-workspace"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --enable-deterministic-inference --attention-backend flashinfer", version="0.5.12"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --enable-deterministic-inference", version="0.5.23"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects, then the arithmetic for old vLLM."""
    yield from defect_hits(context, "MEM12")
    if not context.vllm or context.command.engine_version is None or context.since("0.26.0") or context.env("VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE"):
        return
    forced = (context.settings.attention_backend or context.env("VLLM_ATTENTION_BACKEND") or "").upper() == "FLASHINFER"
    blackwell = context.sm is not None and context.sm >= 100
    if not forced and not blackwell:
        return
    heads = max(context.query_heads, default=0) // context.layout.tp
    size = max(context.head_dims, default=0)
    tokens = context.settings.token_budget or 8192
    room = (256 if not context.since("0.11.0") else 394) << 20
    need = heads * tokens * size * 4
    if need <= room and not (forced and heads == 0):
        return
    yield Hit(
        message=msg("FlashInfer's workspace of {room:gib} is small for {tokens:n}-token chunks here", room=room, tokens=tokens),
        why=msg(
            "{heads} heads x {tokens:n} tokens x {size} x 4 bytes = {need:gib}: a long prefill overflows it while memory is free",
            heads=heads,
            tokens=tokens,
            size=size,
            need=need,
        ),
        fix=msg("Set VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE, lower --max-num-batched-tokens, or drop the forced backend."),
        flag="--attention-backend" if context.flag("--attention-backend") else None,
    )
