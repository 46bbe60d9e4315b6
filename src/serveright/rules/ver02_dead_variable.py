"""An environment variable without effect.

## What it catches
`VLLM_*` names the version's environment table does not hold.

## Why it matters
The override silently does nothing; the log has one warning line.

## Example
`VLLM_ATTENTION_BACKEND=FLASHINFER` since 0.15.

## Fix
The flag that took over.

## Versions
vLLM: the table of the version. Build-time names set by images are ignored.

## Sources
vLLM envs.py of the release; github.com/runpod-workers/worker-vllm/pull/259
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg
from serveright.versions import at_least

CODE = "VER02"
NAME = "dead-variable"
SEVERITY = "warning"
EFFECT = "dead_flag"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("VLLM_ATTENTION_BACKEND=FLASHINFER vllm serve Qwen/Qwen3-8B"),
    good("VLLM_LOGGING_LEVEL=DEBUG vllm serve Qwen/Qwen3-8B"),
)
_FOREIGN = (
    "VLLM_BUILD_",
    "VLLM_ADDITIONAL_ARGS",
    "VLLM_ARGS",
    "VLLM_MODEL",
    "VLLM_PORT",
    "VLLM_API_KEY",
    "VLLM_VERSION",
    "VLLM_IMAGE",
    "VLLM_COMMIT",
    "VLLM_SERVICE",
)


def check(context: Context) -> Iterator[Hit]:
    """Variables against the version's table."""
    known = frozenset(context.table.environment)
    if not known:
        return
    prefix = "VLLM_" if context.vllm else "SGLANG_"
    for name, word in context.command.env.items():
        if not name.startswith(prefix) or name in known or name.startswith(_FOREIGN):
            continue
        dead = next((entry for entry in context.facts.lore.dead_variables if entry.name == name), None)
        span = context.seen(context.command.engine, "environment", name)
        if dead is None and span is None and not context.vllm:
            continue
        gone = span is not None and not at_least(span[0], context.version)
        message = (
            msg("{name} left {engine} after {last}", name=name, engine=context.command.engine, last=span[1])
            if span is not None and gone
            else msg("{engine} {version} does not read {name}", engine=context.command.engine, version=context.version, name=name)
        )
        usable = dead is not None and dead.to is not None and context.knows(dead.to)
        yield Hit(
            message=message,
            why=msg("it is set and silently without effect"),
            fix=msg("Use {flag}, or unset it.", flag=dead.to) if dead is not None and usable else msg("Unset it."),
            location=word.location,
            severity=None if dead is not None or gone else "note",
            sources=(dead.source,) if dead is not None else (),
        )
