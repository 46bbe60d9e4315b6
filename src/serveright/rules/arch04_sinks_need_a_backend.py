"""Attention sinks, and a backend or release that cannot do them.

## What it catches
gpt-oss and other models with learnable sinks, with a forced attention backend that has no sink support on this GPU, or on a release before sinks.

## Why it matters
Start fails with "sink setting not supported", or the first request dies.

## Example
`--attention-backend FLASHINFER` for gpt-oss-20b on RTX PRO 6000; `flashinfer` in SGLang.

## Fix
Remove the override: Triton attention and Marlin experts serve sm_80 to sm_89 too.

## Versions
vLLM needs 0.10.2 off Hopper. SGLang on sm_12x needs March 2026.

## Sources
vLLM 0.33.0 attention backends (supports_sink); SGLang 0.5.23 model_overrides/gpt_oss.py; github.com/vllm-project/vllm/issues/40153, 22331
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits, forced_backend, without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH04"
NAME = "sinks-need-a-backend"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path openai/gpt-oss-120b --tp 2 --attention-backend flashinfer", gpu="2xh100"),
    bad("vllm serve openai/gpt-oss-120b", gpu="8xa100-80gb-sxm", version="0.10.1"),
    good("vllm serve openai/gpt-oss-120b", gpu="1xh200"),
)
_VARIABLES = ("VLLM_ATTENTION_BACKEND",)


def check(context: Context) -> Iterator[Hit]:
    """Forced backends, and releases before sinks."""
    if not context.sinks:
        return
    yield from defect_hits(context, "ARCH04")
    given = forced_backend(context)
    name = (context.settings.attention_backend or "").upper()
    if given is not None and name:
        known = next((backend for backend in context.table.backends if backend.name.upper() == name), None)
        # on ROCm the engine asks its backends only since 0.18: older tables say no where the kernels can
        without_sinks = known is not None and known.sinks is False and (not context.amd or context.since("0.18.0"))
        limited = context.vllm and name == "FLASHINFER" and context.sm is not None and context.sm not in (100, 103)
        refused = not context.vllm and name in ("FLASHINFER", "FLASHMLA", "CUTLASS_MLA")
        fa_old = context.vllm and name == "FLASH_ATTN" and context.sm is not None and context.sm < 90
        if without_sinks or limited or refused or fa_old:
            yield Hit(
                message=msg("{backend} cannot do this model's attention sinks here", backend=name),
                why=msg("left alone, the engine takes a backend that can; forced, it refuses to start"),
                fix=msg("Remove --attention-backend."),
                flag="--attention-backend",
                edits=without(given),
                severity="error" if refused or without_sinks else None,
            )
    for variable in _VARIABLES:
        forced = context.env(variable)
        if forced and "TRITON" not in forced.upper() and not context.since("0.15.0"):
            yield Hit(
                message=msg("{variable}={value} forces an attention backend on a model with sinks", variable=variable, value=forced),
                why=msg("few backends do sinks; an inherited variable pins one that does not"),
                fix=msg("Unset {variable}.", variable=variable),
                location=context.command.env[variable].location,
            )
