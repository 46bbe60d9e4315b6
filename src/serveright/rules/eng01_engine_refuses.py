"""The engine itself refuses this combination.

## What it catches
Conditions under which the engine's own start-up code stops, as read from the release: backends, dtypes, parallel sizes, cache combinations.

## Why it matters
The server exits, often after loading; the finding carries the engine's own words.

## Example
`--kv-cache-dtype fp8_e5m2` for DSA in SGLang; `--decode-context-parallel-size` with windows.

## Fix
As the finding says.

## Versions
The behaviour file of the engine covers the version.

## Sources
The file of the release named in the finding
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.types.text import msg

CODE = "ENG01"
NAME = "engine-refuses"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = ()
_ELSEWHERE = ("weights", "no_memory", "context", "kv_pool", "states", "fit")


def check(context: Context) -> Iterator[Hit]:
    """Refusals of the sizing that no finer rule explains."""
    sized = context.sized
    if sized is None:
        return
    for refusal in sized.resolved.refusals:
        if any(word in refusal.code for word in _ELSEWHERE):
            continue
        yield Hit(
            message=msg("{engine} {version} refuses: {text}", engine=context.command.engine, version=context.version, text=refusal.text),
            why=refusal.why,
            sources=(refusal.source,) if refusal.source else (),
        )
