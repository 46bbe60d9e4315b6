"""Tensor parallelism over PCIe.

## What it catches
Several shards on a GPU without NVLink.

## Why it matters
Every layer waits for two all-reduces over PCIe: prefill of long prompts is bound by it. On mixed or virtualised hosts the peer-to-peer probe of the custom all-reduce can hang the start.

## Example
Four RTX 4090 with `--tensor-parallel-size 4`.

## Fix
Prefer pipeline or data parallelism where the model allows; if the start hangs, `--disable-custom-all-reduce` and `NCCL_P2P_DISABLE=1`.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/13508; github.com/Blackwellboy/model-serving-minefield/issues/5
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PERF05"
NAME = "tensor-parallel-over-pcie"
SEVERITY = "note"
EFFECT = "slow"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B -tp 4", gpu="4xrtx-4090"),
    good("vllm serve Qwen/Qwen3-32B -tp 4", gpu="4xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Shards without a fast link."""
    gpu = context.gpu
    if gpu is None or context.layout.tp < 2 or gpu.interconnect.bus_bytes_per_s is not None or gpu.interconnect.domain_gpus > 1:
        return
    safe = context.on("--disable-custom-all-reduce")
    yield Hit(
        message=msg("{tp} shards over PCIe ({gpu} has no NVLink)", tp=context.layout.tp, gpu=gpu.name),
        why=msg("two all-reduces a layer cross PCIe; long prefills are bound by it, and the peer-to-peer probe can hang the start on mixed hosts"),
        fix=msg("Consider pipeline or data parallelism.")
        if safe
        else msg("Consider pipeline or data parallelism; if the start hangs, add --disable-custom-all-reduce."),
        flag="--tensor-parallel-size",
    )
