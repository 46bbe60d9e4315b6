"""The transformers release a model asks for is outside what the engine allows.

## What it catches
A catalogue model whose minimum transformers version lies above the engine's upper bound.

## Why it matters
The resolver refuses, or a forced install breaks the engine.

## Example
A model that needs transformers 5 on an engine that caps below 5.

## Fix
The image or release that allows it; do not force the install.

## Versions
The wheel's own requirement.

## Sources
Requires-Dist of the wheel; the catalogue's minimum versions
"""

import re
from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.types.text import msg
from serveright.versions import at_least

CODE = "VER04"
NAME = "transformers-out-of-range"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = ()
_CAP = re.compile(r"<\s*=?\s*(\d+(?:\.\d+)*)")


def check(context: Context) -> Iterator[Hit]:
    """The catalogue's minimum against the wheel's cap."""
    files = context.facts.files
    cap = _CAP.search(context.table.requires.get("transformers", ""))
    minimum = files.facts.get("min_versions", {}).get("transformers") if files is not None and isinstance(files.facts.get("min_versions"), dict) else None
    need = re.search(r"(\d+\.\d+(?:\.\d+)?)", minimum) if isinstance(minimum, str) and not minimum.startswith("<") else None
    if cap is None or need is None or not at_least(need[1], cap[1] if "." in cap[1] else f"{cap[1]}.0"):
        return
    yield Hit(
        message=msg(
            "the model needs transformers {need}; {engine} {version} allows below {cap}",
            need=need[1],
            engine=context.command.engine,
            version=context.version,
            cap=cap[1],
        ),
        why=msg("the resolver refuses, or a forced install breaks the engine"),
        fix=msg("Use a release that allows it."),
    )
