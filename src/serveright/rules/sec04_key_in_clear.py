"""A secret stands in the command.

## What it catches
`--api-key` with the key itself, or `HF_TOKEN` and its like written out.

## Why it matters
Commands land in repositories, shell histories, process lists and logs.

## Example
`--api-key sk-abc123` in a manifest.

## Fix
A secret reference, a variable set elsewhere.

## Versions
All.

## Sources
The command itself; the value is never printed
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SEC04"
NAME = "key-in-clear"
SEVERITY = "warning"
EFFECT = "security"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --api-key sk-0123456789abcdef"),
    good("vllm serve Qwen/Qwen3-8B --api-key $API_KEY"),
)
_SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY")
_DUMMIES = ("", "EMPTY", "empty", "none", "dummy", "token-abc123", "xxx", "changeme")


def check(context: Context) -> Iterator[Hit]:
    """Literal values of what should be secret."""
    key = context.flag("--api-key")
    if key is not None and key.literal and key.value not in (None, *_DUMMIES) and "$" not in (key.value or "") and "{{" not in (key.value or ""):
        yield Hit(
            message=msg("--api-key stands in clear"),
            why=msg("commands land in repositories, histories and process lists"),
            fix=msg("Take it from a secret: VLLM_API_KEY set elsewhere.") if context.vllm else msg("Take it from a secret."),
            flag="--api-key",
        )
    for name in _SECRETS:
        word = context.command.env.get(name)
        if word is not None and word.literal and word.text not in _DUMMIES and "$" not in word.text and "{{" not in word.text and not word.text.startswith("<"):
            yield Hit(
                message=msg("{name} stands in clear", name=name),
                why=msg("commands land in repositories, histories and process lists"),
                fix=msg("Take it from a secret."),
                location=word.location,
            )
