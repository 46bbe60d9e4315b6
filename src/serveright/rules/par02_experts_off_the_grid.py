"""Tensor parallelism cuts routed experts off the quantisation grid.

## What it catches
Block-scaled weights with expert width / shards no multiple of the block, expert parallelism off.

## Why it matters
Loading fails: a scale covers a whole block, and a shard cannot own a part of one.

## Example
Qwen3-235B-A22B-FP8 at TP 8: 1536 / 8 = 192, no multiple of 128.

## Fix
Expert parallelism (experts stay whole), or fewer shards.

## Versions
All with block FP8.

## Sources
github.com/vllm-project/vllm/issues/17569, 25292, 54178
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import expert_widths
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PAR02"
NAME = "experts-off-the-grid"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-235B-A22B-FP8 --tensor-parallel-size 8"),
    good("vllm serve Qwen/Qwen3-235B-A22B-FP8 --tensor-parallel-size 8 --enable-expert-parallel"),
    good("vllm serve Qwen/Qwen3-235B-A22B-FP8 --tensor-parallel-size 4"),
)


def check(context: Context) -> Iterator[Hit]:
    """Routed experts only; shared and dense blocks are another rule's."""
    block = context.block_scaled
    shards = expert_shards(context)
    if block is None or shards == 1 or not context.is_format("fp8"):
        return
    if context.value("--quantization") == "fp8_per_block" and context.since("0.28.0"):
        return  # blocks that vLLM makes itself are padded since then
    for width in sorted(expert_widths(context)):
        if width % shards == 0 and (width // shards) % block[0] == 0:
            continue
        yield Hit(
            message=msg(
                "expert width {width} / {shards} = {share:n} is no multiple of the {block}-wide FP8 block",
                width=width,
                shards=shards,
                share=width / shards,
                block=block[0],
            ),
            why=msg("a scale covers a whole block; no GPU can own a part of one"),
            fix=msg("Add --enable-expert-parallel (experts stay whole), or use fewer shards.")
            if context.vllm
            else msg("Add --ep-size {shards} (experts stay whole), or use fewer shards.", shards=shards),
            flag="--tensor-parallel-size",
            edits=(Edit("--enable-expert-parallel", "", safe=False),) if context.vllm else (Edit("--ep-size", str(context.tp_flag), safe=False),),
        )


def expert_shards(context: Context) -> int:
    """GPUs that share one expert: vLLM spreads experts over tp x dp ranks, SGLang over tp / ep."""
    layout = context.layout
    if context.vllm:
        return 1 if layout.ep > 1 else layout.tp * layout.dp
    return max(1, context.tp_flag // layout.ep)
