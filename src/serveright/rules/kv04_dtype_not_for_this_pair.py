"""The cache precision is not supported for this model on this GPU.

## What it catches
Model and GPU pairs the engine or its kernels refuse: DSA with anything but bf16 and e4m3 in SGLang, nvfp4 off the GPUs that have it or with sinks and heads of 64,
NVFP4 latent rows off sm_10x, e5m2 for FlashAttention, MiniMax-M3 fp8 on MI300.

## Why it matters
A crash, circular advice in the error, or nonsense in the text.

## Example
`--kv-cache-dtype nvfp4` on H100 with SGLang; `fp8_e5m2` for GLM-5.2 in SGLang.

## Fix
`auto`.

## Versions
vLLM 0.33 has nvfp4 on sm_80 and later through FlashInfer; before, sm_10x only. SGLang 0.5.23: sm_100 and sm_120 only.

## Sources
vLLM 0.33.0 v1/attention/backends/flashinfer.py, mla/flashmla_sparse.py; SGLang 0.5.23 arg_groups/overrides.py, kv_cache_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, without
from serveright.rules.registry import bad, good
from serveright.types.text import Msg, msg

CODE = "KV04"
NAME = "dtype-not-for-this-pair"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path zai-org/GLM-5.2 --tp 8 --kv-cache-dtype fp8_e5m2", gpu="8xh200"),
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --kv-cache-dtype nvfp4", gpu="1xh200"),
    good("python -m sglang.launch_server --model-path zai-org/GLM-5.2 --tp 8 --kv-cache-dtype fp8_e4m3", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects, then the gates read from the releases."""
    yield from defect_hits(context, "KV04", "warning")
    given = context.value("--kv-cache-dtype")
    if given is None or given == "auto":
        return
    reason = refused(context, given)
    if reason is not None:
        yield Hit(
            message=msg("--kv-cache-dtype {value}: {reason}", value=given, reason=reason),
            why=msg("the engine or its kernels refuse the pair"),
            fix=msg("Use auto."),
            flag="--kv-cache-dtype",
            edits=without(context.flag("--kv-cache-dtype")),
        )


def refused(context: Context, given: str) -> Msg | None:
    """Why the pair cannot work; None where nothing speaks against it."""
    sm = context.sm
    if not context.vllm:
        if context.dsa and given not in ("bf16", "bfloat16", "fp8_e4m3"):
            return msg("DSA takes bf16 and fp8_e4m3 only")
        if context.compressed and given not in ("fp8_e4m3", "bfloat16"):
            return msg("DeepSeek-V4 takes fp8_e4m3 and bfloat16 only")
        if given == "nvfp4" and sm is not None and sm not in (100, 103, 120, 121):
            return msg("it needs Blackwell (sm_100 or sm_120)")
        if given == "nvfp4" and context.latent:
            return msg("latent attention has no NVFP4 prefill")
        return None
    if given.startswith("nvfp4") and "mla" not in given and context.since("0.33.0") and (context.sinks or 64 in context.head_dims):
        return msg("FlashInfer has no NVFP4 cache for heads of 64 or attention sinks")
    if given == "nvfp4_ds_mla" and sm is not None and sm not in (100, 103):
        return msg("NVFP4 latent rows exist on sm_10x only")
    if context.compressed and not given.startswith("fp8") and context.since("0.20.0") and "DSV4" not in (context.settings.attention_backend or "").upper():
        return msg("DeepSeek-V4's rows are fp8_ds_mla")
    return None
