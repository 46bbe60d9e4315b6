"""The parser's name is not registered in this version.

## What it catches
`--tool-call-parser` or `--reasoning-parser` with a name the version does not know.

## Why it matters
The server dies in its argument check: documentation of a newer release was read with an older one, or the other engine's name was used.

## Example
`--tool-call-parser openai` on vLLM 0.10.1: the name came with 0.10.2.

## Fix
Use a registered name or the release that has it.

## Versions
Any; the registry of each release is in the engine tables.

## Sources
Parser registry of the release (vLLM tool_parsers/__init__.py and reasoning/__init__.py, SGLang parser_names.py)
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import assumed
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PARSE09"
NAME = "unknown-parser"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve zai-org/GLM-5.2 --enable-auto-tool-choice --tool-call-parser glm-47"),
    bad("vllm serve openai/gpt-oss-120b --enable-auto-tool-choice --tool-call-parser gpt-oss"),
    good("vllm serve zai-org/GLM-5.2 --enable-auto-tool-choice --tool-call-parser glm47"),
)


def check(context: Context) -> Iterator[Hit]:
    """Names against the version's registry."""
    choice = context.facts.parsers
    plugin = any("parser-plugin" in flag.written.replace("_", "-") for flag in context.command.flags)
    for flag, kind, registered, right in (
        ("--tool-call-parser", "tool_parser", context.table.tool_parsers, choice.tool if choice else None),
        ("--reasoning-parser", "reasoning_parser", context.table.reasoning_parsers, choice.reasoning if choice else None),
    ):
        given = context.value(flag)
        if not given or not registered or given in registered or given == "auto" or plugin or context.command.entry.startswith("dynamo"):
            continue
        span = context.seen(context.command.engine, kind, given)
        why = (
            msg("{name} exists from {first} to {last}", name=given, first=span[0], last=span[1])
            if span
            else msg("no known release registers {name}", name=given)
        )
        yield Hit(
            message=msg("{flag} {name}: not known to {engine} {version}", flag=flag, name=given, engine=context.command.engine, version=context.version),
            why=why,
            fix=msg("Use {flag} {right}.", flag=flag, right=right) if right else msg("Registered: {names}.", names=", ".join(registered[:40])),
            flag=flag,
            edits=() if right is None else (Edit(flag, right, safe=bool(choice and choice.sure)),),
            **assumed(context, kind, given),
        )
