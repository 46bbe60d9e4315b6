"""The model's class is not in this version.

## What it catches
An architecture the version's registry does not hold.

## Why it matters
The start is refused; upgrading transformers alone does not help.

## Example
A model released in October on an engine of June.

## Fix
The first version that has the class.

## Versions
The registry of the version decides. Classes with code in the repository or served through transformers are left out.

## Sources
vLLM model_executor/models/registry.py; SGLang models
"""

from collections.abc import Iterator
from typing import Any, cast

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "VER03"
NAME = "model-newer-than-engine"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3.5-27B", version="0.12.0"),
    good("vllm serve Qwen/Qwen3.5-27B"),
)


def check(context: Context) -> Iterator[Hit]:
    """The class against the registry."""
    shape = context.shape
    if shape is None or not context.table.architectures or context.knows_architecture() is not None or not shape.architecture:
        return
    span = context.seen(context.command.engine, "architecture", shape.architecture)
    if span is None and (shape.remote_code or not context.facts.indexes.get(context.command.engine) or _served(context)):
        return
    yield Hit(
        message=msg("{architecture} is not in {engine} {version}", architecture=shape.architecture, engine=context.command.engine, version=context.version),
        why=msg("it comes with {first}", first=span[0]) if span else msg("no known release has it; a transformers fallback may or may not run it"),
        fix=msg("Use {engine} {first} or newer.", engine=context.command.engine, first=span[0])
        if span
        else msg("Check whether the engine's fallback serves it."),
        severity=None if span else "warning",
        confidence="certain" if span and context.command.engine_version else None,
    )


def _served(context: Context) -> bool:
    """Whether the catalogue knows a release of this engine that serves the model: some engines rename an architecture when they read its config."""
    files = context.facts.files
    minimum = files.facts.get("minimum") if files else None
    entry = cast("dict[str, Any]", minimum).get(context.command.engine) if isinstance(minimum, dict) else None
    version = cast("dict[str, Any]", entry).get("version") if isinstance(entry, dict) else None
    return isinstance(version, str) and context.since(version)
