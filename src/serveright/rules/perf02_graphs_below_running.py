"""The largest CUDA graph is smaller than the batches that may run.

## What it catches
SGLang with a decode graph limit, default or given, below the running requests allowed.

## Why it matters
After a burst the batch exceeds the graphs, decode slows fourfold, the batch stays large: a state that does not recover.

## Example
L40 or RTX 5090 with the defaults 24 to 80 against 4096 running requests.

## Fix
`--cuda-graph-max-bs-decode` equal to `--max-running-requests`.

## Versions
All of SGLang; the flag was `--cuda-graph-max-bs` before 0.5.14.

## Sources
github.com/sgl-project/sglang/issues/33900, 37898; SGLang arg_groups/memory_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PERF02"
NAME = "graphs-below-running"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-8B", gpu="1xl40"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --max-running-requests 64 --cuda-graph-max-bs-decode 64", gpu="1xl40"),
)


def check(context: Context) -> Iterator[Hit]:
    """The graph limit against the running limit."""
    if context.vllm or context.settings.eager or (context.shape is not None and not context.shape.causal):
        return
    asked = context.settings.max_graph_batch
    running = context.settings.max_num_seqs
    sized = context.sized
    largest = asked or (sized.resolved.max_graph_batch if sized is not None else None) or _default(context)
    if largest is None:
        return
    limit = running or 4096
    if largest >= limit or (asked is None and running is None and largest >= 256):
        return
    name = "--cuda-graph-max-bs-decode" if context.since("0.5.14") else "--cuda-graph-max-bs"
    yield Hit(
        message=msg("decode graphs reach {largest} requests; {limit} may run", largest=largest, limit=limit),
        why=msg("a burst beyond the graphs decodes eagerly and keeps the batch large: latency rises and does not come back"),
        fix=msg("Set {flag} and --max-running-requests to one number.", flag=name),
        flag="--max-running-requests" if running else None,
        severity="warning" if largest < 64 else None,
    )


def _default(context: Context) -> int | None:
    """SGLang's limit by GPU memory where nothing was sized: 8, 24 to 48, 32, 256 or 512."""
    if context.gpu is None:
        return None
    mib = context.gpu.memory_bytes / 2**20
    wide = context.tp_flag >= 4
    for bound, narrow, broad in ((20 * 1024, 8, 8), (35 * 1024, 48, 160), (60 * 1024, 32, 160), (160 * 1024, 256, 512)):
        if mib < bound:
            return broad if wide else narrow
    return 512
