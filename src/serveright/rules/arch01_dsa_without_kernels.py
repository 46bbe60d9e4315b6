"""A sparse-attention (DSA) model on a GPU that has no kernels for it.

## What it catches
A model with an indexer over latent attention (DeepSeek-V3.2, GLM-5) on a compute capability no backend of the version serves.

## Why it matters
The engine finds no valid attention backend at start, or fails at the first request. No flag repairs it.

## Example
GLM-5.2 on A100 or L40S; on RTX PRO 6000 (sm_120) with vLLM before 0.24.

## Fix
Hopper or data-centre Blackwell; sm_120 and sm_121 from vLLM 0.24 and SGLang 0.5.17 on.

## Versions
vLLM: sm_90 and sm_10x always, sm_12x since 0.24.0. SGLang: same, with flashinfer_sparse_mla since 0.5.17; others than GLM need tilelang named on sm_12x.

## Sources
vLLM 0.33.0 platforms/cuda.py, layers/sparse_attn_indexer.py (DeepGEMM needed); SGLang 0.5.23 arg_groups/overrides.py; github.com/vllm-project/vllm/issues/38006
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import gpu_name
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH01"
NAME = "dsa-without-kernels"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve zai-org/GLM-5.2 -tp 8", gpu="8xa100-80gb-sxm"),
    bad("vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8", gpu="8xrtx-pro-6000", version="0.22.0"),
    good("vllm serve zai-org/GLM-5.2 -tp 8", gpu="8xh200"),
)
_FIRST_ON_SM12 = {"vllm": "0.24.0", "sglang": "0.5.17"}


def check(context: Context) -> Iterator[Hit]:
    """Capability against what the version's sparse kernels cover."""
    sm = context.sm
    if not context.dsa or sm is None:
        return
    first = _FIRST_ON_SM12[context.command.engine]
    if sm in (90, 100, 103) or (sm in (120, 121) and context.since(first)):
        return
    soft = not context.vllm and sm < 90  # SGLang has no gate at argument time; the indexer's DeepGEMM is what fails
    yield Hit(
        message=msg(
            "{gpu} has no sparse-attention kernels in {engine} {version}", gpu=gpu_name(context), engine=context.command.engine, version=context.version
        ),
        why=msg("sparse latent attention exists for sm_90, sm_100, sm_103, and for sm_12x from {first} on; the indexer needs DeepGEMM", first=first),
        fix=msg("Move to {first} or newer.", first=first)
        if sm in (120, 121)
        else msg("Use Hopper or data-centre Blackwell, or a model without sparse attention; no flag repairs it."),
        confidence="likely" if soft else None,
    )
