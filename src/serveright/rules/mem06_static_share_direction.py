"""SGLang's static share is moved the wrong way.

## What it catches
`--mem-fraction-static` below what the weights alone take, or so high that prefill has no room; with figures for a neighbouring value.

## Why it matters
The share covers weights and cache. A failed start wants it higher, an OOM in prefill lower or a smaller chunk: opposite moves.

## Example
0.5 for a model whose weights take 0.6 of the GPU: "Not enough memory. Please try to increase".

## Fix
Raise it for a failed start; lower it, or `--chunked-prefill-size`, for an OOM at run time.

## Versions
All of SGLang. The default is computed from GPU, chunk and graphs.

## Sources
SGLang arg_groups/memory_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import leave_share_out, without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM06"
NAME = "static-share-direction"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path nvidia/GLM-5.2-NVFP4 --tp 8 --mem-fraction-static 0.80", gpu="8xb200"),
    good("python -m sglang.launch_server --model-path nvidia/GLM-5.2-NVFP4 --tp 8", gpu="8xb200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The share against weights, and what the default would hold."""
    share = context.settings.mem_fraction
    if context.vllm or share is None:
        return
    sized = context.sized
    if sized is not None and sized.memory.kv_pool_bytes <= 0:
        yield Hit(
            message=msg(
                "--mem-fraction-static {share} leaves nothing for cache: {weights:gib} of weights on {total:gib}",
                share=share,
                weights=sized.memory.weights_bytes,
                total=sized.memory.device_bytes,
            ),
            why=msg("the share covers weights and cache: the start fails with a request to increase it"),
            fix=msg("Raise it, or use more GPUs."),
            flag="--mem-fraction-static",
            severity="error",
            effect="crash",
        )
        return
    default = context.what_if(mem_fraction=None)
    if sized is None or default is None:
        yield Hit(
            message=msg("--mem-fraction-static {share} replaces the computed default", share=share),
            why=msg("a failed start wants it higher, an out-of-memory in prefill lower or a smaller chunk"),
            fix=msg("Leave it out unless a run showed the need."),
            flag="--mem-fraction-static",
            edits=without(context.flag("--mem-fraction-static"), safe=False),
            confidence="possible",
        )
        return
    theirs = default.resolved.mem_fraction
    if abs(theirs - share) < 0.02:
        return
    yield Hit(
        message=msg(
            "--mem-fraction-static {share} holds {now:n} tokens; SGLang's own {theirs:.2f} would hold {then:n}",
            share=share,
            now=sized.capacity.tokens,
            theirs=theirs,
            then=default.capacity.tokens,
        ),
        why=msg("what the share leaves over is for activations and graphs: an out-of-memory in prefill wants it lower, a failed start higher"),
        fix=leave_share_out(context, msg("Leave it out unless a run showed the need.")),
        flag="--mem-fraction-static",
        edits=without(context.flag("--mem-fraction-static"), safe=False) if default.memory.kv_pool_bytes > 0 else (),
    )
