"""The image's tag moves.

## What it catches
Engine images tagged `latest` or `nightly`, or without a tag.

## Why it matters
The next pull brings another engine: other flags, other defaults, and code nobody reviewed.

## Example
`lmsysorg/sglang:latest`.

## Fix
A release tag, best with a digest.

## Versions
All.

## Sources
The manifest itself
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SEC03"
NAME = "image-that-moves"
SEVERITY = "warning"
EFFECT = "security"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B"),
    good("docker run --gpus all lmsysorg/sglang:v0.5.23 python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B"),
)


def check(context: Context) -> Iterator[Hit]:
    """Tag or digest."""
    image = context.command.image
    if image is None or "@sha256:" in image or "$" in image or "{{" in image:
        return
    last = image.rpartition("/")[2]
    tag = last.rpartition(":")[2] if ":" in last else ""
    if tag not in ("", "latest", "nightly", "dev", "main"):
        return
    yield Hit(
        message=msg("image {image} moves", image=image),
        why=msg("the next pull brings code nobody reviewed"),
        fix=msg("Pin a release, best with a digest."),
    )
