"""The length asked for is longer than the model's.

## What it catches
`--max-model-len` beyond the config's positions, without a rope override or the environment switch.

## Why it matters
vLLM refuses; with the switch and no rope override positions are wrong and text turns to noise.

## Example
`--max-model-len 131072` for a model of 40,960 positions.

## Fix
Keep to the model's length, or override `rope_parameters` in the nest that holds them.

## Versions
All.

## Sources
vLLM config/model.py _get_and_verify_max_len
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "MEM11"
NAME = "longer-than-trained"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --max-model-len 262144"),
    good("vllm serve Qwen/Qwen3-8B --max-model-len 32768"),
)


def check(context: Context) -> Iterator[Hit]:
    """The length against the config's positions."""
    asked = context.context_tokens
    most = context.shape.max_context_tokens if context.shape else None
    if asked is None or most is None or asked <= most or context.has("--hf-overrides", "--rope-scaling", "--json-model-override-args"):
        return
    allowed = context.env("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1" or context.env("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") in ("1", "true")
    if allowed:
        return
    yield Hit(
        message=msg("{asked:n} tokens asked for; the model has positions for {most:n}", asked=asked, most=most),
        why=msg("the engine refuses a length beyond the config's"),
        fix=msg("Use at most {most:n}, or override rope_parameters knowingly.", most=most),
        flag="--max-model-len" if context.vllm else "--context-length",
        edits=(Edit("--max-model-len" if context.vllm else "--context-length", str(most), safe=False),),
    )
