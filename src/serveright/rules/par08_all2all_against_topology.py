"""The all-to-all backend does not fit the network or the GPU.

## What it catches
DeepEP inside one NVLink node or on sm_103; `naive` or `pplx` on a release that only warns; DeepEP high-throughput with a monolithic expert kernel.

## Why it matters
Two to three times slower decode, a crash, or 93 % of the time in communication.

## Example
`--all2all-backend deepep_low_latency` on one node of eight B200.

## Fix
One node: `allgather_reducescatter`. Several nodes: `deepep_low_latency` for decode, `deepep_high_throughput` for prefill. AMD: mori.

## Versions
vLLM since 0.11.1.

## Sources
github.com/vllm-project/vllm/issues/42254, 41687, 33738; vLLM config/parallel.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import gpu_name, without
from serveright.rules.registry import bad, good
from serveright.types.text import Msg, msg

CODE = "PAR08"
NAME = "all2all-against-topology"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel --all2all-backend deepep_low_latency", gpu="8xb200"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel", gpu="8xb200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The backend's name against GPU and nodes."""
    flag = "--all2all-backend" if context.vllm else "--moe-a2a-backend"
    name = context.value(flag) or (context.env("VLLM_ALL2ALL_BACKEND") if context.vllm else None)
    if name is None:
        return
    gpus = context.layout.tp * context.layout.dp
    domain = context.gpu.interconnect.domain_gpus if context.gpu else 8
    deepep = name.startswith("deepep")
    if deepep and context.sm == 103:
        yield _hit(
            context,
            flag,
            msg("DeepEP has no sm_103 kernels"),
            msg("{gpu} is sm_103; the fallback spends most of the step in communication", gpu=gpu_name(context)),
        )
    elif deepep and 1 < gpus <= domain and context.command.nodes == 1:
        yield _hit(
            context,
            flag,
            msg("DeepEP inside one NVLink domain of {gpus} GPUs is slower than all-gather", gpus=gpus),
            msg("it pays across nodes; inside NVLink the default uses the fabric better"),
        )
    if name == "deepep_high_throughput" and "trtllm" in (context.settings.moe_backend or "").lower():
        yield _hit(context, flag, msg("deepep_high_throughput with a monolithic TRTLLM expert kernel crashes"), msg("that kernel takes no dispatched tokens"))
    if name in ("naive", "pplx") and context.vllm:
        yield _hit(
            context, flag, msg("{name} is no longer there: vLLM warns and uses allgather_reducescatter", name=name), msg("the name parses but does nothing")
        )


def _hit(context: Context, flag: str, message: Msg, why: Msg) -> Hit:
    return Hit(
        message=message,
        why=why,
        fix=msg("Leave it to the engine on one node; deepep_low_latency or deepep_high_throughput across nodes."),
        flag=flag,
        edits=without(context.flag(flag), safe=False),
    )
