"""float16 for a model trained in bfloat16's range.

## What it catches
`--dtype half` or `float16` on gpt-oss, Gemma, or NVFP4 weights through Marlin; and any model whose config says bfloat16.

## Why it matters
Activations overflow 65504: NaN, or "!!!!" as the answer.

## Example
`--dtype float16` with Qwen3-32B-NVFP4 on a pre-Blackwell GPU.

## Fix
`auto` or `bfloat16`.

## Versions
All; the Marlin FP4 overflow before vLLM 0.16.

## Sources
github.com/vllm-project/vllm/issues/33972
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "OVR02"
NAME = "half-on-bf16-model"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B --dtype float16"),
    good("vllm serve Qwen/Qwen3-32B"),
)
_RANGE = ("gemma", "gpt_oss")


def check(context: Context) -> Iterator[Hit]:
    """float16 against the config's dtype."""
    given = context.flag("--dtype")
    if given is None or given.value not in ("half", "float16") or context.shape is None or context.shape.dtype != "bfloat16":
        return
    if context.sm is not None and context.sm < 80:
        return  # bfloat16 does not exist there
    known = context.shape.model_type.startswith(_RANGE) or context.is_format("nvfp4") or context.sinks
    yield Hit(
        message=msg("--dtype {value} on a model made in bfloat16", value=given.value),
        why=msg("this family overflows float16: NaN or repeated signs as the answer")
        if known
        else msg("values beyond 65504 overflow; many models survive it, some do not"),
        fix=msg("Use auto or bfloat16."),
        flag="--dtype",
        edits=without(given, safe=known),
        severity=None if known else "note",
        confidence="likely" if known else None,
    )
