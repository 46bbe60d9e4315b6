"""bfloat16 asked for on a GPU without it.

## What it catches
`--dtype bfloat16` on compute capability below 8.0: V100, T4, RTX 20.

## Why it matters
The start is refused after the workers came up: "Bfloat16 is only supported on GPUs with compute capability of at least 8.0".

## Example
`vllm serve Qwen/Qwen2.5-7B-Instruct --dtype bfloat16` on T4.

## Fix
`--dtype half`, and a look at the answers: a few models overflow in float16.

## Versions
All. Newer releases fall back to float16 where the dtype is left to them.

## Sources
vLLM v1/worker/gpu_worker.py check_if_supports_dtype; github.com/vllm-project/vllm/issues/9990, 946
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import gpu_name, set_flag
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "ARCH13"
NAME = "bfloat16-below-sm80"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen2.5-7B-Instruct --dtype bfloat16", gpu="2xt4", version="0.6.3"),
    good("vllm serve Qwen/Qwen2.5-7B-Instruct --dtype half", gpu="2xt4"),
)


def check(context: Context) -> Iterator[Hit]:
    """The dtype against the capability; where the engine's sizing says so already, ENG01 has its words."""
    if context.value("--dtype") != "bfloat16" or context.sm is None or context.sm >= 80:
        return
    yield Hit(
        message=msg("--dtype bfloat16 on {gpu}", gpu=gpu_name(context)),
        why=msg("it has no bfloat16 arithmetic: the worker refuses to start"),
        fix=msg("Use --dtype half."),
        flag="--dtype",
        edits=set_flag("--dtype", "half"),
    )
