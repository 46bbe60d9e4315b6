"""The tool-call or reasoning parser belongs to another model family.

## What it catches
A parser whose syntax is not the one the chat template writes (or, without a template, not one this architecture is served with).

## Why it matters
Calls stay in `content`, or `finish_reason` says `tool_calls` with an empty list; reasoning leaks into the answer. Nothing is logged.

## Example
`--tool-call-parser hermes` for Qwen3-Coder, whose template writes `<function=name>` instead of JSON.

## Fix
Use the parser the template calls for. Names differ between the engines and between releases.

## Versions
All. Where two names are one class in a release (glm45 and glm47 in vLLM since 0.24), either is accepted.

## Sources
Chat template of the checkpoint; vLLM tool_parsers/__init__.py; SGLang parser/template_detection.py; github.com/vllm-project/vllm/issues/17161
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PARSE02"
NAME = "parser-of-another-family"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser llama3_json --reasoning-parser qwen3"),
    good("vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3"),
)


def check(context: Context) -> Iterator[Hit]:
    """Given parsers against the accepted ones."""
    choice = context.facts.parsers
    if choice is None:
        return
    asked = (
        ("--tool-call-parser", choice.tool, choice.accepted_tool, context.table.tool_parsers),
        ("--reasoning-parser", choice.reasoning, choice.accepted_reasoning, context.table.reasoning_parsers),
    )
    for flag, right, accepted, registered in asked:
        given = context.value(flag)
        if given is None or not accepted or given in accepted or given == "auto" or (registered and given not in registered):
            continue
        yield Hit(
            message=msg("{flag} {given} is not what this model writes", flag=flag, given=given)
            if right is None
            else msg("{flag} {given}: this model writes for {right}", flag=flag, given=given, right=right),
            why=msg("calls or reasoning stay unparsed in the text; nothing is logged"),
            fix=None if right is None else msg("Use {flag} {right}.", flag=flag, right=right),
            flag=flag,
            edits=() if right is None else (Edit(flag, right, safe=choice.sure),),
            severity=None if choice.sure else "note",
            sources=tuple(f"{fact.path}: {fact.value}" for fact in choice.evidence),
        )
