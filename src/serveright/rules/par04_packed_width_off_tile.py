"""Tensor parallelism cuts packed INT4 or INT8 weights off the kernel's tile.

## What it catches
GPTQ, AWQ or compressed-tensors integers with width / shards no multiple of the larger of group size and the 128-wide (dense: 64-wide) tile.

## Why it matters
Loading fails, or a mixture-of-experts model dies at its first request.

## Example
Qwen2-72B at TP 4: 29568 / 4 = 7392; Qwen3-235B GPTQ at TP 8: 1536 / 8 = 192.

## Fix
Fewer shards, pipeline parallelism, or a padded checkpoint.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/17604, 9913; github.com/vllm-project/llm-compressor/issues/57
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import dense_widths, expert_widths
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR04"
NAME = "packed-width-off-tile"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-235B-A22B-GPTQ-Int4 -tp 8"),
    good("vllm serve Qwen/Qwen3-235B-A22B-GPTQ-Int4 -tp 4"),
)
_INTEGERS = ("int4", "int8", "awq", "gptq", "w4a16", "w8a16")


def check(context: Context) -> Iterator[Hit]:
    """Expert and dense widths against the packed group."""
    if not context.is_format(*_INTEGERS) or context.shape is None:
        return
    group = max((form.group for form in context.formats if form.bits <= 8), default=0)
    dense = context.layout.tp if context.vllm else context.tp_flag
    experts = 1 if context.layout.ep > 1 else dense
    for width, shards in [*((width, experts) for width in sorted(expert_widths(context))), *((width, dense) for width in sorted(dense_widths(context)))]:
        tile = max(group, 64)
        if (width / shards) % tile == 0:
            continue
        yield Hit(
            message=msg(
                "width {width} / {shards} = {share:n} is no multiple of {tile}, the packed group or kernel tile",
                width=width,
                shards=shards,
                share=width / shards,
                tile=tile,
            ),
            why=msg("integer kernels work on whole groups and tiles: loading fails, or the first request does"),
            fix=msg("Use fewer shards, pipeline parallelism, or a padded checkpoint."),
            flag="--tensor-parallel-size",
        )
