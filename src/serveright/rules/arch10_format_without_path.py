"""The number format has no native path on this GPU, or the engine refuses it there.

## What it catches
A quantisation method below the minimum capability its class accepts; FP4 or FP8 weights on a GPU without such tensor cores.

## Why it matters
Below the minimum the start is refused. Without native maths weights are unpacked on the fly: the memory is saved, the speed is not.

## Example
An NVFP4 checkpoint on H100 runs weight-only in Marlin; `fp_quant` below sm_100 is refused.

## Fix
Take the checkpoint whose format the GPU computes in.

## Versions
The quantisation table of the version decides.

## Sources
get_min_capability of each class in the release; vLLM kernels/linear
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH10"
NAME = "format-without-path"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve nvidia/DeepSeek-V3.1-NVFP4 -tp 8", gpu="8xh200"),
    good("vllm serve nvidia/DeepSeek-V3.1-NVFP4 -tp 8", gpu="8xb200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Minimum capability first, native maths second."""
    if context.sm is None or context.checkpoint is None or not context.quantised or context.gpu is None:
        return
    entry = next((known for known in context.table.quantizations if known.name == context.checkpoint.method), None)
    if entry is not None and entry.min_capability is not None and context.sm < entry.min_capability:
        yield Hit(
            message=msg(
                "{method} needs sm_{need}; {gpu} is sm_{sm}", method=context.checkpoint.method, need=entry.min_capability, gpu=context.gpu.name, sm=context.sm
            ),
            why=msg("the engine refuses the method on this GPU"),
            fix=msg("Take a checkpoint in another format."),
            severity="error",
            effect="crash",
        )
        return
    for form, native in (("nvfp4", "fp4"), ("mxfp4", "fp4"), ("fp8", "fp8"), ("mxfp8", "fp8")):
        if context.is_format(form) and native not in context.gpu.flops:
            yield Hit(
                message=msg("{form} weights run weight-only on {gpu}", form=form, gpu=context.gpu.name),
                why=msg(
                    "the GPU has no {native} tensor cores: weights are unpacked to 16 bits for every product; memory is saved, prefill is slower", native=native
                ),
                fix=msg("For speed take a checkpoint in a format this GPU computes in."),
            )
            return
