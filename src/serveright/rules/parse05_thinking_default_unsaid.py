"""The parser decides from the request whether the model thinks, and the server sets no default.

## What it catches
A reasoning parser whose start state hangs on `chat_template_kwargs` (DeepSeek-V3.1 and later, V4), without `--default-chat-template-kwargs`.

## Why it matters
A client that does not send the switch gets all reasoning in `content` with a lone closing tag, or no reasoning after an upgrade.

## Example
`--reasoning-parser deepseek_v4` behind a client that never sends `thinking`.

## Fix
Set `--default-chat-template-kwargs` with the key the template reads.

## Versions
vLLM since 0.21.

## Sources
vLLM reasoning/deepseek_v3_reasoning_parser.py: the request's `thinking` or `enable_thinking` picks the state
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "PARSE05"
NAME = "thinking-default-unsaid"
SEVERITY = "note"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 4 --reasoning-parser deepseek_v4"),
    good("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 4 --reasoning-parser deepseek_v4 --default-chat-template-kwargs '{\"thinking\": true}'"),
)
_BY_REQUEST = ("deepseek_v3", "deepseek_v4", "deepseek_v41", "deepseek-v3", "deepseek-v4", "deepseek-v41", "holo2")


def check(context: Context) -> Iterator[Hit]:
    """A request-driven parser without a server default."""
    given = context.value("--reasoning-parser")
    if given not in _BY_REQUEST or context.has("--default-chat-template-kwargs") or (context.vllm and not context.since("0.21.0")):
        return
    choice = context.facts.parsers
    key = choice.toggle if choice and choice.toggle else "thinking"
    yield Hit(
        message=msg("{parser} starts inside or outside the think block by the request's {key}; the server sets no default", parser=given, key=key),
        why=msg("a client that does not send it gets reasoning in content with a lone closing tag"),
        fix=msg("Add --default-chat-template-kwargs with {key}, or have every client send it.", key=key),
        flag="--reasoning-parser",
    )
