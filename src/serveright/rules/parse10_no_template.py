"""The checkpoint has no chat template.

## What it catches
A text model whose tokenizer files hold no `chat_template`, without `--chat-template`.

## Why it matters
Start-up succeeds and every chat request fails; a borrowed template leaves stray markers in the text.

## Example
`vllm serve google/gemma-4-31B`, the base checkpoint, behind a chat client.

## Fix
Serve the instruction-tuned checkpoint, use `/v1/completions`, or give the author's template.

## Versions
vLLM with transformers 4.44 or newer.

## Sources
github.com/vllm-project/vllm/issues/39279
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.types.text import msg

CODE = "PARSE10"
NAME = "no-chat-template"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = ()


def check(context: Context) -> Iterator[Hit]:
    """Tokenizer files at hand, and no template in them."""
    files, choice = context.facts.files, context.facts.parsers
    if files is None or not files.tokenizer_config or files.chat_template or "chat_template" in files.tokenizer_config:
        return
    if context.has("--chat-template") or (choice is not None and choice.encoded_in_code) or (context.shape is not None and not context.shape.causal):
        return
    yield Hit(
        message=msg("this checkpoint has no chat template: chat requests will fail"),
        why=msg("start-up succeeds, /v1/chat/completions does not; base checkpoints have none"),
        fix=msg("Serve the instruction-tuned checkpoint, use /v1/completions, or give the author's --chat-template."),
    )
