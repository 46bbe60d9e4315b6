"""Speculation without a number of draft tokens.

## What it catches
A `--speculative-config` with a draft model, ngram, EAGLE or DSpark and no `num_speculative_tokens`; the old form without it likewise.

## Why it matters
The start is refused: "num_speculative_tokens must be provided ...". Only prediction layers of the model itself bring a number along.

## Example
`--speculative-config '{"model": "yuhuili/EAGLE-LLaMA3.1-Instruct-8B", "method": "eagle"}'`.

## Fix
Add `num_speculative_tokens`; 2 to 5 for EAGLE.

## Versions
vLLM since 0.8.

## Sources
vLLM config/speculative.py; github.com/vllm-project/vllm/pull/20375
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SPEC06"
NAME = "draft-length-missing"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config \'{"model":"yuhuili/EAGLE-LLaMA3.1-Instruct-8B","method":"eagle"}\''),
    good('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config \'{"method":"mtp"}\''),
)
_COUNTED = ("ngram", "ngram_gpu", "eagle", "eagle3", "draft_model", "suffix_decoding", "medusa")
"""Methods whose drafts bring no number of their own."""


def check(context: Context) -> Iterator[Hit]:
    """The method and its length."""
    speculation = context.speculation
    given = context.flag("--speculative-config")
    if not context.vllm or speculation is None or speculation[1] or given is None or not given.literal:
        return
    if speculation[0].lower() not in _COUNTED:
        return
    yield Hit(
        message=msg("speculation by {method} without num_speculative_tokens", method=speculation[0]),
        why=msg("its draft brings no number along: the configuration is refused"),
        fix=msg("Add num_speculative_tokens, for instance 3."),
        flag="--speculative-config",
    )
