"""A 16-bit cache precision that is not the model's own.

## What it catches
`--kv-cache-dtype float16` or `bfloat16` where the model computes in the other one.

## Why it matters
vLLM refuses: a 16-bit cache must be the model's dtype.

## Example
`--kv-cache-dtype float16` for a BF16 model.

## Fix
`auto`.

## Versions
vLLM 0.14 and later.

## Sources
vLLM config/vllm.py: kv_cache_dtype is incompatible with dtype
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "KV06"
NAME = "sixteen-bit-cache-of-other-dtype"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --kv-cache-dtype float16"),
    good("vllm serve Qwen/Qwen3-8B --kv-cache-dtype bfloat16"),
)


def check(context: Context) -> Iterator[Hit]:
    """The cache's 16-bit word against the model's."""
    given = context.value("--kv-cache-dtype")
    if not context.vllm or given not in ("float16", "bfloat16") or context.shape is None:
        return
    asked = context.value("--dtype")
    model = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16"}.get(asked or context.shape.dtype, context.shape.dtype)
    if given == model or model not in ("float16", "bfloat16"):
        return
    yield Hit(
        message=msg("a {given} cache with a {model} model", given=given, model=model),
        why=msg("vLLM refuses a 16-bit cache that is not the model's dtype"),
        fix=msg("Use auto."),
        flag="--kv-cache-dtype",
        edits=without(context.flag("--kv-cache-dtype")),
    )
