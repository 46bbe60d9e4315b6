"""A flag or value that still works and will go.

## What it catches
Flags the version marks deprecated, and values it rewrites with a warning.

## Why it matters
The next upgrade turns it into an error.

## Example
`--speculative-config '{"method": "qwen3_next_mtp", ...}'`: read as `mtp`; `--enable-dp-attention` in SGLang 0.5.22.

## Fix
The successor in the finding.

## Versions
The table of the version.

## Sources
Deprecation texts of the release; facts/flags.toml
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "VER08"
NAME = "deprecated"
SEVERITY = "note"
EFFECT = "dead_flag"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --speculative-config \'{"method":"qwen3_next_mtp","num_speculative_tokens":2}\''),
    good('vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --speculative-config \'{"method":"mtp","num_speculative_tokens":2}\''),
)


def check(context: Context) -> Iterator[Hit]:
    """Deprecated flags, then rewritten values."""
    for given in context.command.flags:
        spec = context.spec(given.name) if given.name else None
        if spec is not None and spec.deprecated:
            yield Hit(
                message=msg("{flag} is deprecated: {words}", flag=given.written, words=spec.deprecated[:160]),
                why=msg("a later release will refuse it"),
                fix=msg("Follow the engine's words."),
                flag=given.written,
                location=given.location,
            )
    for change in context.facts.lore.value_changes:
        given = context.flag(change.flag) if change.engine == context.command.engine else None
        if given is None:
            continue
        value = context.json(change.flag).get(change.key) if change.key else given.value
        known = context.table.speculative_methods if change.key == "method" else ()
        if value != change.value or (known and change.to not in known) or (change.flag == "--tool-call-parser" and change.to not in context.table.tool_parsers):
            continue
        if change.flag == "--speculative-config" and not context.since("0.14.0"):
            continue
        yield Hit(
            message=msg("{flag}: {value} is read as {to}", flag=change.flag, value=change.value, to=change.to),
            why=msg("an old name that is rewritten with a warning"),
            fix=msg("Write {to}.", to=change.to),
            flag=given.written,
            location=given.value_location or given.location,
            edits=() if change.key is None else (Edit(f"{change.flag}.{change.key}", change.to),),
            sources=(change.source,),
        )
