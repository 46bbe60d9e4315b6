"""The model's prompt is built in code, and this release or command does not hold the encoder.

## What it catches
DeepSeek-V3.2 or V4 on a vLLM that has no encoder for it.

## Why it matters
The checkpoint ships no template; deployment succeeds and every chat request fails.

## Example
DeepSeek-V3.2 on vLLM 0.11.2.

## Fix
vLLM 0.12 or newer with `--tokenizer-mode deepseek_v32`.

## Versions
vLLM before the release that knows the tokenizer mode.

## Sources
github.com/vllm-project/vllm/issues/29849; vLLM --tokenizer-mode choices by release
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PARSE11"
NAME = "encoder-missing"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3.2 -dp 8 --enable-expert-parallel", version="0.11.2"),
    good("vllm serve deepseek-ai/DeepSeek-V3.2 -dp 8 --enable-expert-parallel --tokenizer-mode deepseek_v32"),
)


def check(context: Context) -> Iterator[Hit]:
    """The tokenizer mode the architecture needs, against the version's choices."""
    choice = context.facts.parsers
    if choice is None or choice.tokenizer_mode is None or context.has("--chat-template"):
        return
    spec = context.spec("--tokenizer-mode")
    if spec is not None and (not spec.choices or choice.tokenizer_mode in spec.choices):
        return
    yield Hit(
        message=msg("vLLM {version} has no {mode} encoder: every chat request will fail", version=context.version, mode=choice.tokenizer_mode),
        why=msg("this model ships no template; its prompt is built in code"),
        fix=msg("Use a release whose --tokenizer-mode knows {mode}.", mode=choice.tokenizer_mode),
    )
