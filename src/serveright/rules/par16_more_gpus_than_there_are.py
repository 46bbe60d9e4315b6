"""The command asks for more GPUs than the deployment has, or leaves some idle.

## What it catches
tp x pp x dp (x copies) against the GPUs requested, the batch job's, or those given with `--gpu`.

## Why it matters
Too many: the start hangs or fails. Too few: paid GPUs idle.

## Example
`--tensor-parallel-size 8` in a container with `nvidia.com/gpu: 4`.

## Fix
Make the product equal the GPUs at hand.

## Versions
All.

## Sources
Arithmetic; vLLM config/parallel.py world size
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR16"
NAME = "more-gpus-than-there-are"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B -tp 8", gpu="4xh200"),
    good("vllm serve Qwen/Qwen3-32B -tp 4", gpu="4xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The product against what is there."""
    have = context.gpus
    layout = context.layout
    local = context.integer("--data-parallel-size-local")
    nodes = max(context.command.nodes, context.integer("--nnodes") or 1)
    if have is None or local is not None or context.has("--data-parallel-address", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"):
        return
    asked = layout.gpus * layout.replicas
    if nodes > 1 and context.facts.gpu_count is None and context.command.gpu_count is not None:
        have = context.command.gpu_count * nodes
    if not context.layout_known:
        return
    if asked > have:
        yield Hit(
            message=msg("the layout takes {asked} GPUs; {have} are there", asked=asked, have=have),
            why=msg("tp {tp} x pp {pp} x dp {dp}: ranks without a GPU stop the start", tp=layout.tp, pp=layout.pp, dp=layout.dp * layout.replicas),
            fix=msg("Lower the sizes or give more GPUs."),
            flag="--tensor-parallel-size",
        )
    elif asked < have and have % asked == 0 and nodes == 1 and have <= 8 and context.command.gpu_count != asked:
        yield Hit(
            message=msg("the layout uses {asked} of {have} GPUs", asked=asked, have=have),
            why=msg("the others idle unless further servers run on them"),
            fix=msg("Use them for data parallelism, or request fewer."),
            flag="--tensor-parallel-size",
            severity="note",
            effect="cost",
            confidence="possible",
        )
