"""An e4m3 cache on a GPU whose attention path cannot read it.

## What it catches
`fp8` or `fp8_e4m3` caches below sm_89: Triton, FlashAttention 2 and latent attention cannot convert them.

## Why it matters
"fp8e4nv not supported" at start or at the first request. FlashInfer can, for plain attention.

## Example
`--kv-cache-dtype fp8` on RTX 3090 with a model FlashInfer does not serve.

## Fix
`auto`, `fp8_e5m2`, or `--attention-backend FLASHINFER` for plain attention.

## Versions
vLLM: plain attention goes to FLASHINFER by itself in 0.33; before about 0.20 name it.

## Sources
vLLM 0.33.0 v1/attention/backends/triton_attn.py, flashinfer.py; github.com/vllm-project/vllm/issues/26431, 7714
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import gpu_name, without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "KV02"
NAME = "e4m3-below-sm89"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --kv-cache-dtype fp8", gpu="8xa100-80gb-sxm"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 8", gpu="8xa100-80gb-sxm"),
)


def check(context: Context) -> Iterator[Hit]:
    """The path that reads the cache on this GPU."""
    given = context.value("--kv-cache-dtype")
    sm = context.sm
    if not context.vllm or given not in ("fp8", "fp8_e4m3") or sm is None or sm >= 89:
        return
    special = bool(context.latent) or context.sinks or any(size > 256 for size in context.head_dims)
    old = context.command.engine_version is not None and not context.since("0.20.0")
    backend = (context.settings.attention_backend or context.env("VLLM_ATTENTION_BACKEND") or "").upper()
    if not special and (not old or backend == "FLASHINFER"):
        return
    yield Hit(
        message=msg("{gpu} cannot read an e4m3 cache in this model's attention", gpu=gpu_name(context)),
        why=msg("Triton and FlashAttention 2 have no e4m3 below sm_89; only FlashInfer has, for plain attention"),
        fix=msg("Use auto.") if special else msg("Add --attention-backend FLASHINFER, or use fp8_e5m2 or auto."),
        flag="--kv-cache-dtype",
        edits=without(context.flag("--kv-cache-dtype"), safe=False),
        severity="error" if special and context.since("0.20.0") else None,
    )
