"""Structured output and thinking meet on a release that mixes them up.

## What it catches
vLLM 0.21 to 0.27 with a reasoning parser and speculative decoding: constrained requests of a thinking model.

## Why it matters
The grammar starts in the wrong place: reasoning is suppressed, the prefix is duplicated, or text comes out unconstrained.

## Example
`--reasoning-parser qwen3 --speculative-config '{"method":"mtp",...}'` on 0.23 with `response_format`.

## Fix
Switch thinking off for schema calls, drop speculation, or move to 0.28.

## Versions
vLLM 0.21 to 0.27.

## Sources
github.com/vllm-project/vllm/issues/47027 and the threads it links
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PARSE06"
NAME = "schema-while-thinking"
SEVERITY = "note"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve Qwen/Qwen3.6-27B --reasoning-parser qwen3 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\'', version="0.23.0"),
    good('vllm serve Qwen/Qwen3.6-27B --reasoning-parser qwen3 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\'', version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Parser and speculation inside the window of versions."""
    if not context.vllm or not context.between("0.21.0", "0.28.0") or not context.has("--reasoning-parser") or context.speculation is None:
        return
    yield Hit(
        message=msg("response_format with thinking and speculation is unreliable on vLLM {version}", version=context.version),
        why=msg("the grammar may start before the reasoning ends"),
        fix=msg("Switch thinking off for schema calls, drop speculation, or move to 0.28."),
        flag="--speculative-config",
    )
