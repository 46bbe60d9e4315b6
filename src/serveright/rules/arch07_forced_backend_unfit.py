"""A forced attention backend that cannot serve this model or GPU.

## What it catches
`--attention-backend` with a name whose head sizes, latent or sparse attention, or GPU do not fit the model, global layers counted.

## Why it matters
The start is refused. Left alone, the engine takes a backend that fits.

## Example
FLASHINFER for Gemma 4, whose global layers have heads of 512; CUTLASS_MLA for DeepSeek-V3.2, which needs sparse attention; flashinfer for a gated-delta model on B200 in SGLang.

## Fix
Remove the flag.

## Versions
The backend table of the version decides; SGLang's lists per architecture are those of 0.5.23.

## Sources
vLLM v1/attention/backends validate_configuration; SGLang arg_groups/model_overrides; github.com/vllm-project/vllm/issues/40677, 30227; github.com/sgl-project/sglang/issues/35080
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import forced_backend, without
from serveright.rules.registry import bad, good
from serveright.types.text import Msg, msg

CODE = "ARCH07"
NAME = "forced-backend-unfit"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve google/gemma-4-31B-it --attention-backend FLASHINFER", gpu="1xrtx-pro-6000"),
    bad("vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8 --attention-backend CUTLASS_MLA", gpu="8xb200"),
    good("vllm serve google/gemma-4-31B-it", gpu="1xrtx-pro-6000"),
)
_GDN_ON_SM10 = frozenset({"trtllm_mha", "triton", "fa4"})


def check(context: Context) -> Iterator[Hit]:
    """The flag's name, or the variable old releases read, against model and GPU."""
    name = context.settings.attention_backend
    given = forced_backend(context)
    variable = context.env("VLLM_ATTENTION_BACKEND") if context.vllm and not context.since("0.15.0") else None
    name = name or variable
    if name is None or context.shape is None or name.lower() == "auto":
        return
    reason = unfit(context, name)
    if reason is None:
        return
    yield Hit(
        message=msg("attention backend {backend} does not fit this model here: {reason}", backend=name, reason=reason),
        why=msg("a forced backend is not exchanged for a valid one: the start is refused"),
        fix=msg("Remove it; the engine picks one that fits."),
        flag="--attention-backend" if given else None,
        location=None if given else context.command.env["VLLM_ATTENTION_BACKEND"].location,
        edits=without(given),
    )


def unfit(context: Context, name: str) -> Msg | None:
    """Why a backend cannot serve the model on this GPU; None where nothing speaks against it."""
    upper = name.upper()
    latent = bool(context.latent)
    sparse = context.dsa
    if context.vllm:
        if sparse and "SPARSE" not in upper and "DSV4" not in upper:
            return msg("it is not sparse")
        if latent and "MLA" not in upper and not sparse:
            return msg("the model's attention is latent (MLA)")
        if not latent and "MLA" in upper and context.attention:
            return msg("the model has no latent attention")
        entry = next((backend for backend in context.table.backends if backend.name.upper() == upper), None)
        if entry is not None and entry.head_sizes and not latent:
            odd = sorted(size for size in context.head_dims if size not in entry.head_sizes)
            if odd:
                return msg("it has no kernel for heads of {size}", size=odd[-1])
        if upper == "FLASHINFER" and any(size > 256 for size in context.head_dims):
            return msg("it has no kernel for heads of {size}", size=max(context.head_dims))
        if entry is not None and entry.capabilities and context.sm is not None and context.sm not in entry.capabilities:
            return msg("not for sm_{sm}", sm=context.sm)
        return None
    lower = name.lower()
    if (
        context.sm in (100, 103)
        and any(mixer.kind == "gated_deltanet" for mixer in context.recurrent)
        and lower not in _GDN_ON_SM10
        and lower.startswith(("flashinfer", "fa3"))
    ):
        return msg("on this GPU gated-delta models take trtllm_mha, triton or fa4")
    if lower == "trtllm_mla" and context.sm is not None and context.sm not in (100, 103, 120, 121):
        return msg("it needs Blackwell")
    if any(size > 256 for size in context.head_dims) and lower in ("fa3", "flashinfer"):
        return msg("it has no kernel for heads of {size}", size=max(context.head_dims))
    if lower == "fa3" and context.sm is not None and context.sm not in (80, 86, 87, 89, 90):
        return msg("it exists for Hopper")
    return None
