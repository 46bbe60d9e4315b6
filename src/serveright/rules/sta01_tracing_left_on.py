"""Tracing or debugging is left on in a server.

## What it catches
`VLLM_TRACE_FUNCTION`, `CUDA_LAUNCH_BLOCKING`, `TORCH_USE_CUDA_DSA` and their like.

## Why it matters
Every call is logged or every launch waits: the start takes so long that probes kill the pod, forever.

## Example
`VLLM_TRACE_FUNCTION=1` with a start-up probe of ten minutes.

## Fix
Unset it; raise `failureThreshold` of the start-up probe for large models anyway.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/17386
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "STA01"
NAME = "tracing-left-on"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("VLLM_TRACE_FUNCTION=1 vllm serve Qwen/Qwen3-8B"),
    good("vllm serve Qwen/Qwen3-8B"),
)
_VARIABLES = ("VLLM_TRACE_FUNCTION", "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")


def check(context: Context) -> Iterator[Hit]:
    """Variables that slow every call."""
    for name in _VARIABLES:
        if context.env(name) in ("1", "true", "3"):
            yield Hit(
                message=msg("{name} is left on", name=name),
                why=msg("every call is logged or every launch waits; start-up probes then kill the server"),
                fix=msg("Unset it."),
                location=context.command.env[name].location,
            )
