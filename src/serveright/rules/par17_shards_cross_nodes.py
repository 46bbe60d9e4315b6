"""Tensor parallelism reaches over the fast links' end.

## What it catches
More shards of one attention rank than GPUs in one scale-up domain (8 in most nodes, 72 in NVL72).

## Why it matters
Every layer waits for two all-reduces over the network, tens of times slower than NVLink. Stages (pipeline) or ranks (data, experts) cross it once a step or once a layer instead.

## Example
`--tensor-parallel-size 16` for a 70B model on two nodes of 8 H100.

## Fix
Tensor parallelism inside the node, `--pipeline-parallel-size` over nodes; for many experts DP attention with expert parallelism. Where only the weights' size forces it, it can be right.

## Versions
All.

## Sources
vLLM docs parallelism_scaling; github.com/OpenRLHF/OpenRLHF/issues/758
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PAR17"
NAME = "shards-cross-nodes"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 16", gpu="16xh100"),
    good("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 8 -pp 2", gpu="16xh100"),
)


def check(context: Context) -> Iterator[Hit]:
    """Shards against the domain."""
    gpu, layout = context.gpu, context.layout
    if gpu is None or not context.layout_known:
        return
    domain = max(gpu.interconnect.domain_gpus, gpu.gpus_per_node)
    if layout.tp <= domain or layout.tp > (context.gpus or 0):
        return
    yield Hit(
        message=msg("{tp} shards over nodes of {domain} GPUs", tp=layout.tp, domain=domain),
        why=msg("every layer's all-reduces cross the network"),
        fix=msg("Prefer --pipeline-parallel-size over nodes, or DP attention with expert parallelism for many experts.")
        if context.vllm
        else msg("Prefer --pp-size over nodes, or --enable-dp-attention with --ep-size for many experts."),
        flag="--tensor-parallel-size",
    )
