"""Backend flags of a B200 recipe on consumer or workstation Blackwell.

## What it catches
trtllm, fa4, CUTLASS_MLA, FLASHINFER_MLA and similar backends named on sm_120 or sm_121.

## Why it matters
Those kernels need tcgen05 and exist for sm_100 and sm_103 only; "Blackwell" is not one target.

## Example
`--attention-backend trtllm_mla` on RTX PRO 6000.

## Fix
Remove the flags; flashinfer or triton attention and triton, flashinfer_cutlass or Marlin experts are chosen then.

## Versions
All. SGLang's trtllm_mha has an sm_120 path (XQA decode) in recent releases and is not reported.

## Sources
facts: vLLM 0.33.0 v1/attention/backends/mla (major 10 only); SGLang 0.5.23 arg_groups/attention_hook.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import gpu_name, without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH03"
NAME = "b200-words-on-sm12x"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --attention-backend trtllm_mla", gpu="8xrtx-pro-6000"),
    good("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --attention-backend trtllm_mla", gpu="8xb200"),
)
_ONLY_SM10 = frozenset(
    {
        "trtllm_mla",
        "fa4",
        "cutlass_mla",
        "cutedsl_mla",
        "tokenspeed_mla",
        "flashinfer_mla",
        "flashinfer_trtllm",
        "flashinfer_trtllm_routed",
        "flashinfer_cutedsl",
        "trtllm",
        "flashmla",
    }
)
_FLAGS = (
    "--attention-backend",
    "--prefill-attention-backend",
    "--decode-attention-backend",
    "--moe-runner-backend",
    "--moe-backend",
    "--fp4-gemm-backend",
    "--fp8-gemm-backend",
    "--linear-backend",
    "--mm-attention-backend",
    "--dsa-decode-backend",
    "--dsa-prefill-backend",
)


def check(context: Context) -> Iterator[Hit]:
    """Every backend flag on sm_12x."""
    if context.sm not in (120, 121):
        return
    for flag in _FLAGS:
        value = context.value(flag)
        if value is None or value.lower() not in _ONLY_SM10:
            continue
        yield Hit(
            message=msg("{flag} {value} has kernels for sm_100 and sm_103 only; {gpu} is another target", flag=flag, value=value, gpu=gpu_name(context)),
            why=msg("these kernels use tcgen05, which sm_120 and sm_121 do not have"),
            fix=msg("Remove {flag}; the engine picks one that exists.", flag=flag),
            flag=flag,
            edits=without(context.flag(flag)),
        )
