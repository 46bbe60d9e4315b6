"""Nobody can say which version this command runs on.

## What it catches
A command without image tag or `--engine`, or an image tagged `latest` or `nightly`.

## Why it matters
Flags, parsers, defaults and kernels differ between releases; the findings then rest on the newest known one.

## Example
`image: vllm/vllm-openai:latest`.

## Fix
Pin the tag, or tell the audit with `--engine vllm@0.33.0`.

## Versions
All.

## Sources
The command itself
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "VER09"
NAME = "version-unknown"
SEVERITY = "note"
EFFECT = "wrong_output"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("docker run --gpus all vllm/vllm-openai:latest --model Qwen/Qwen3-8B"),
    good("docker run --gpus all vllm/vllm-openai:v0.33.0 --model Qwen/Qwen3-8B"),
)


def check(context: Context) -> Iterator[Hit]:
    """Images whose tag moves."""
    image = context.command.image
    if image is None or context.command.engine_version is not None:
        return
    tag = image.rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    if tag not in ("", "latest", "nightly", "dev", "main"):
        return
    yield Hit(
        message=msg("image {image} names no release", image=image),
        why=msg("the next pull can bring other flags, parsers and defaults; judged here against {version}", version=context.version),
        fix=msg("Pin a release tag."),
    )
