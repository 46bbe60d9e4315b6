"""Code from the model's repository is allowed to run without need.

## What it catches
`--trust-remote-code` where the config points to no code, or the engine has its own class for the model.

## Why it matters
The repository's Python runs in the server with its rights; a changed revision changes the code.

## Example
`--trust-remote-code` for Qwen3, copied from an old recipe.

## Fix
Remove it; where it is needed pin `--revision`.

## Versions
All.

## Sources
`auto_map` of config.json; registry of the release
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SEC02"
NAME = "code-from-the-repository"
SEVERITY = "note"
EFFECT = "security"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --trust-remote-code"),
    good("vllm serve Qwen/Qwen3-8B"),
)


def check(context: Context) -> Iterator[Hit]:
    """The switch against config and registry."""
    given = context.flag("--trust-remote-code")
    if given is None or not context.on("--trust-remote-code") or context.shape is None:
        return
    if context.shape.remote_code:
        if context.has("--revision", "--code-revision"):
            return
        yield Hit(
            message=msg("--trust-remote-code without a pinned revision"),
            why=msg("the repository's Python runs in the server; the next commit changes it"),
            fix=msg("Pin --revision."),
            flag="--trust-remote-code",
            severity="note",
        )
        return
    yield Hit(
        message=msg("--trust-remote-code without need: this config points to no code"),
        why=msg("it lets any later revision of the repository run Python in the server"),
        fix=msg("Remove it."),
        flag="--trust-remote-code",
        edits=without(given, safe=False),
        severity="note" if context.knows_architecture() is None else None,
    )
