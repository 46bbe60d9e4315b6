"""A shortened flag that could mean several.

## What it catches
Abbreviations argparse cannot resolve in this version, and those it can today but may not tomorrow.

## Why it matters
"ambiguous option" stops the server. SGLang 0.5.20 made `--cuda-graph-max-bs` such a case.

## Example
`--cuda-graph-max-bs 64` in SGLang 0.5.20 and later.

## Fix
Write the whole name.

## Versions
The table of the version decides.

## Sources
Flag tables; SGLang 0.5.20 release
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import assumed
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "VER07"
NAME = "ambiguous-abbreviation"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --cuda-graph-max-bs 64"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --cuda-graph-max-bs-decode 64"),
)
_HABITS = ("--tp", "--dp", "--ep", "--pp")


def check(context: Context) -> Iterator[Hit]:
    """Ambiguous ones as errors, working ones as notes."""
    for given in context.command.flags:
        several = context.ambiguous(given.written)
        if given.name is None and several and not context.command.entry.startswith("dynamo"):
            successor = context.successor(given.written)
            to = successor.to if successor is not None and successor.to else None
            yield Hit(
                message=msg("{flag} could be {names}", flag=given.written, names=", ".join(several)),
                why=msg("argparse stops at an ambiguous abbreviation"),
                fix=msg("Write {flag}.", flag=to) if to else msg("Write the whole name."),
                flag=given.written,
                location=given.location,
                edits=(Edit(given.written, None), Edit(to, given.value or "")) if to else (),
                **assumed(context, "flag", given.written),
            )
        elif given.name is not None and given.written.startswith("--") and context.abbreviated(given.written) and given.written not in _HABITS:
            yield Hit(
                message=msg("{flag} is an abbreviation of {name}", flag=given.written, name=given.name),
                why=msg("a new flag of a later release can make it ambiguous"),
                fix=msg("Write {name}.", name=given.name),
                flag=given.written,
                location=given.location,
                edits=(Edit(given.written, None), Edit(given.name, given.value or "")),
                severity="note",
                effect="dead_flag",
                confidence="possible",
            )
