"""Expert parallelism: on or off, and what that means for this model here.

## What it catches
A mixture-of-experts model over several GPUs, whichever way the switch stands.

## Why it matters
Experts take the same memory per GPU under tensor and under expert parallelism: whole experts on some GPUs, or a slice of each on all. Time is what differs:
slices make thin matrices and one all-reduce; whole experts make full matrices, an all-to-all, and wait for the busiest GPU. Which wins hangs on the batch.

## Example
`--tensor-parallel-size 8` on 256 experts: slices of 2048 / 8 = 256 wide, or 32 whole experts a GPU.

## Fix
Measure both at the target concurrency. DP attention and wide deployments want expert parallelism; few requests on one node usually do not.

## Versions
vLLM `--enable-expert-parallel`; SGLang `--ep-size N` since 0.5.1.

## Sources
github.com/vllm-project/vllm/issues/28887; vLLM config/parallel.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR07"
NAME = "expert-parallelism"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 8", gpu="8xh200"),
    good("vllm serve Qwen/Qwen3-32B -tp 8", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The note with this model's numbers."""
    layout = context.layout
    gpus = layout.tp * layout.dp
    if not context.moe or gpus == 1:
        return
    ffn = max(context.moe, key=lambda block: block.experts)
    if layout.ep == 1 and ffn.intermediate % gpus:
        return
    per_gpu = expert_bytes(context, gpus)
    memory = msg("routed experts take {size:gib} a GPU either way", size=per_gpu) if per_gpu else msg("routed experts take the same memory a GPU either way")
    if layout.ep > 1:
        if layout.dp > 1 or (context.command.nodes > 1):
            return
        yield Hit(
            message=msg(
                "expert parallelism over {gpus} GPUs with tensor-parallel attention: {experts} whole experts a GPU", gpus=gpus, experts=ffn.experts // gpus
            ),
            why=msg("{memory}; at low concurrency the busiest GPU sets the step, at high concurrency full-width experts win", memory=memory),
            fix=msg("Measure with and without at the target concurrency."),
            flag="--enable-expert-parallel" if context.vllm else "--ep-size",
        )
        return
    yield Hit(
        message=msg(
            "no expert parallelism: each of {gpus} GPUs holds a {share:n}-wide slice of all {experts} experts (whole: {width})",
            gpus=gpus,
            share=ffn.intermediate / gpus,
            experts=ffn.experts,
            width=ffn.intermediate,
        ),
        why=msg(
            "{memory}; {wide}",
            memory=memory,
            wide=msg("with data-parallel attention whole experts are the usual choice")
            if layout.dp > 1
            else msg("few requests: slices and one all-reduce are usually faster; large batches or several nodes: whole experts and an all-to-all"),
        ),
        fix=msg("Measure --enable-expert-parallel at the target concurrency; never a rule for all.")
        if context.vllm
        else msg("Measure --ep-size {gpus} at the target concurrency; never a rule for all.", gpus=gpus),
        flag="--tensor-parallel-size",
    )


def expert_bytes(context: Context, gpus: int) -> int | None:
    """Bytes of routed experts on one GPU; the same under tensor and expert parallelism."""
    need = context.facts.need
    total = sum(group.bytes for group in need.groups if group.part == "experts") if need else 0
    return total // gpus if total else None
