"""The quantisation is named although the checkpoint says it.

## What it catches
`--quantization` beside a checkpoint with its own quantisation, or one it contradicts.

## Why it matters
In vLLM naming the base method can force a slow kernel (`awq` instead of Marlin: five times slower), or mismatch and stop. In SGLang it is usually only redundant.

## Example
`--quantization awq` for an AWQ checkpoint.

## Fix
Remove it.

## Versions
All.

## Sources
github.com/vllm-project/vllm/issues/20112; vLLM config/model.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import repeats, without
from serveright.rules.registry import bad, good
from serveright.types.command import GivenFlag
from serveright.types.text import msg

CODE = "OVR01"
NAME = "quantization-named"
SEVERITY = "note"
EFFECT = "dead_flag"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B-AWQ --quantization awq", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-32B-AWQ", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-32B --quantization fp8", gpu="1xh200"),
)
_SLOW = {"awq": "awq_marlin", "gptq": "gptq_marlin"}


def check(context: Context) -> Iterator[Hit]:
    """The word against the checkpoint's own."""
    given = context.flag("--quantization")
    if given is None or given.value is None or not given.literal:
        return
    asked = given.value.lower()
    if context.checkpoint is None:
        if asked in _SLOW and context.vllm:
            yield _slow(given, asked)
        return
    if not context.quantised or context.facts.online:
        return
    if context.vllm and asked in _SLOW:
        yield _slow(given, asked)
    elif repeats(asked, context.checkpoint.method):
        yield Hit(
            message=msg("--quantization {asked} repeats what the checkpoint says", asked=asked),
            why=msg("the engine reads {own} from the config; a word in the command goes stale with the next checkpoint", own=context.checkpoint.method),
            fix=msg("Remove it."),
            flag="--quantization",
            edits=without(given),
        )
    elif not context.has("--allow-deprecated-quantization"):
        yield Hit(
            message=msg("--quantization {asked} on a checkpoint stored as {own}", asked=asked, own=context.checkpoint.method),
            why=msg("the engine refuses a word that does not match the checkpoint"),
            fix=msg("Remove it."),
            flag="--quantization",
            edits=without(given),
            severity="warning",
            effect="crash",
            confidence="likely",
        )


def _slow(given: GivenFlag, asked: str) -> Hit:
    return Hit(
        message=msg("--quantization {asked} forces the slow kernel", asked=asked),
        why=msg("left alone vLLM takes {fast}; the bare word pins the kernel that is about five times slower", fast=_SLOW[asked]),
        fix=msg("Remove it."),
        flag="--quantization",
        edits=without(given),
        severity="warning",
        effect="slow",
    )
