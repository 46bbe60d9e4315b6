"""A chat template is forced on a model whose prompt is built in code.

## What it catches
`--chat-template` with an architecture whose encoding lives in the engine (DeepSeek-V3.2 and V4, gpt-oss, Mistral with its own tokenizer).

## Why it matters
The template's format and the built-in parser's format differ; calls come out malformed although every flag exists.

## Example
`--chat-template tool_chat_template_deepseekv31.jinja` for DeepSeek-V3.2.

## Fix
Drop the flag; in vLLM set `--tokenizer-mode` to the encoder (`deepseek_v32`, `deepseek_v4`, `mistral`).

## Versions
vLLM since 0.12, SGLang since 0.5.7.

## Sources
github.com/sgl-project/sglang/issues/17593; vLLM tokenizers
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PARSE03"
NAME = "template-over-code"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --chat-template old.jinja"),
    good("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.2 --tp 8"),
)


def check(context: Context) -> Iterator[Hit]:
    """A template flag on a self-encoding model."""
    choice = context.facts.parsers
    given = context.flag("--chat-template")
    if given is None or choice is None or not choice.encoded_in_code:
        return
    yield Hit(
        message=msg("--chat-template on a model whose prompt the engine builds itself"),
        why=msg("the template's call format and the built-in parser's differ"),
        fix=msg("Remove --chat-template."),
        flag="--chat-template",
        edits=without(given),
    )
