"""The API listens on every interface without a key.

## What it catches
`--host 0.0.0.0` (vLLM listens there by default), a published port or host network, and no `--api-key`.

## Why it matters
Whoever reaches the port uses the GPUs and reads the model's answers; vLLM's key covers `/v1` only, other routes stay open.

## Example
`docker run -p 8000:8000 vllm/vllm-openai ...` on a host with a public address.

## Fix
`--api-key` (or `VLLM_API_KEY`), a gateway in front, or `--host 127.0.0.1`.

## Versions
All. SGLang listens on 127.0.0.1 by default.

## Sources
vLLM entrypoints/openai/api_server.py; SGLang server_args
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SEC01"
NAME = "open-without-key"
SEVERITY = "note"
EFFECT = "security"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --host 0.0.0.0"),
    good("vllm serve Qwen/Qwen3-8B --host 127.0.0.1"),
)


def check(context: Context) -> Iterator[Hit]:
    """Host against key."""
    host = context.flag("--host")
    if context.has("--api-key", "--admin-api-key") or "VLLM_API_KEY" in context.command.env or context.has("--headless"):
        return
    if host is None or host.value not in ("0.0.0.0", "::", "[::]"):
        return
    yield Hit(
        message=msg("--host {host} without --api-key", host=host.value),
        why=msg("whoever reaches the port uses the GPUs"),
        fix=msg("Set a key from a secret, put a gateway in front, or listen on 127.0.0.1."),
        flag="--host",
    )
