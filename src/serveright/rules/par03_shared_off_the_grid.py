"""Tensor parallelism cuts the shared expert or a dense block off the quantisation grid.

## What it catches
Block-scaled weights with shared-expert or dense width / shards no multiple of the block. Expert parallelism does not help: it frees routed experts only.

## Why it matters
Loading fails. Even official recipes fell for it.

## Example
DeepSeek-V4-Pro at TP 16: 3072 / 16 = 192; Qwen3-Next FP8 at TP 8: 512 / 8 = 64; DeepSeek-R1 at TP 32: 18432 / 32 = 576.

## Fix
Fewer shards and more data parallelism.

## Versions
All with block FP8. SGLang can keep dense parts whole with `--moe-dense-tp-size 1`.

## Sources
github.com/vllm-project/vllm/issues/42384; github.com/sgl-project/sglang/issues/10852, 26107, 3345
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import dense_widths, shared_widths
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR03"
NAME = "shared-off-the-grid"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 32"),
    good("vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 8"),
)


def check(context: Context) -> Iterator[Hit]:
    """Shared experts, then dense blocks; nothing where the format leaves them in 16 bits."""
    block = context.block_scaled
    shards = context.layout.tp if context.vllm else context.tp_flag
    if block is None or shards == 1 or not context.is_format("fp8") or context.shape is None:
        return
    whole_dense = context.integer("--moe-dense-tp-size") == 1
    parts = (
        ("shared_experts", msg("shared expert"), shared_widths(context)),
        ("mlp", msg("dense block"), frozenset[int]() if whole_dense else dense_widths(context)),
    )
    for part, name, widths in parts:
        for width in sorted(widths):
            share = width / shards
            if share % block[0] == 0 or not stored_in_blocks(context, part):
                continue
            yield Hit(
                message=msg(
                    "{name} width {width} / {shards} = {share:n} is no multiple of the {block}-wide FP8 block",
                    name=name,
                    width=width,
                    shards=shards,
                    share=share,
                    block=block[0],
                ),
                why=msg("expert parallelism frees routed experts only; this part stays split over {shards} GPUs", shards=shards),
                fix=msg("Use fewer shards and more data parallelism."),
                flag="--tensor-parallel-size",
            )


def stored_in_blocks(context: Context, part: str) -> bool:
    """Whether a part is stored in FP8, by the weights as the checkpoint's rules format them."""
    need = context.facts.need
    groups = [group for group in need.groups if group.part == part] if need else []
    return any("fp8" in group.format for group in groups)
