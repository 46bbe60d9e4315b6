"""A backend is forced without need.

## What it catches
`--attention-backend`, expert and GEMM backends, or the variables of old releases.

## Why it matters
The engine's own checks (block size, sinks, sparse attention, head size) are skipped, and the choice goes stale with the next release: a later default is often faster.

## Example
`VLLM_ATTENTION_BACKEND=FLASHINFER_MLA` with the default block size: refused.

## Fix
Remove it, compare what the engine chooses, and keep the flag only with a measurement.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/24692, 22193, 28589
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "OVR03"
NAME = "backend-forced"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B --attention-backend FLASHINFER", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-32B", gpu="1xh200"),
)
_FLAGS = (
    "--attention-backend",
    "--prefill-attention-backend",
    "--decode-attention-backend",
    "--moe-backend",
    "--moe-runner-backend",
    "--linear-backend",
    "--fp4-gemm-backend",
    "--fp8-gemm-backend",
    "--dsa-prefill-backend",
    "--dsa-decode-backend",
    "--sampling-backend",
)
_VARIABLES = (
    "VLLM_ATTENTION_BACKEND",
    "VLLM_USE_FLASHINFER_MOE_FP4",
    "VLLM_USE_FLASHINFER_MOE_FP8",
    "VLLM_USE_FLASHINFER_MOE_MXFP4_BF16",
    "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8",
    "VLLM_FLASHINFER_MOE_BACKEND",
    "VLLM_NVFP4_GEMM_BACKEND",
)


def check(context: Context) -> Iterator[Hit]:
    """Each forced choice, with the engine's own beside it where it can be computed."""
    for name in _FLAGS:
        value = context.value(name)
        if value is None or value == "auto":
            continue
        own = _own(context, name)
        if own is not None and own.lower() == value.lower():
            yield Hit(
                message=msg("{flag} {value} names what the engine takes by itself", flag=name, value=value),
                why=msg("it changes nothing today and stays when a later release would choose better"),
                fix=msg("Remove it."),
                flag=name,
                edits=without(context.flag(name), safe=False),
                effect="dead_flag",
            )
            continue
        yield Hit(
            message=msg("{flag} {value} is forced; the engine itself would take {own}", flag=name, value=value, own=own)
            if own
            else msg("{flag} {value} is forced", flag=name, value=value),
            why=msg("a forced backend skips the engine's checks and stays when a later release would choose better"),
            fix=msg("Remove it unless a measurement on this GPU wanted it."),
            flag=name,
            edits=without(context.flag(name), safe=False),
        )
    for name in _VARIABLES:
        given = context.env(name)
        if given and context.vllm and name in context.table.environment:
            yield Hit(
                message=msg("{name}={value} forces a backend", name=name, value=given),
                why=msg("automatic block size, sink and sparse checks are skipped; inherited variables outlive their reason"),
                fix=msg("Unset it and compare."),
                location=context.command.env[name].location,
                severity="warning" if context.latent or context.sinks else None,
            )


def _own(context: Context, name: str) -> str | None:
    """What the engine would choose; None where sizing cannot say, or where it is the same."""
    changes = {"--attention-backend": "attention_backend", "--moe-backend": "moe_backend", "--moe-runner-backend": "moe_backend"}
    if name not in changes:
        return None
    alone = context.what_if(**{changes[name]: None})
    if alone is None:
        return None
    if "moe" in name:
        return alone.resolved.moe
    prefill, decode = alone.resolved.attention_prefill, alone.resolved.attention_decode
    return prefill if prefill == decode else f"{prefill} / {decode}"
