"""A reasoning model is served without a reasoning parser, or with one that passes thinking through.

## What it catches
A model that thinks (its template opens or toggles a think block) without `--reasoning-parser`, or with `minimax-append-think`.

## Why it matters
Thinking and a lone closing tag stand in `content`; a JSON grammar binds from the first token, so that the model cannot think at all.

## Example
`vllm serve Qwen/Qwen3.6-27B` with `response_format` JSON: the answers get worse because the think block is impossible.

## Fix
Set the family's parser. For schema calls without thinking, switch thinking off per request.

## Versions
All. gpt-oss needs both parsers named since vLLM 0.10.2.

## Sources
github.com/vllm-project/vllm/issues/47027; github.com/vllm-project/vllm/issues/22386
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import Msg, msg

CODE = "PARSE04"
NAME = "reasoning-unparsed"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B"),
    good("vllm serve Qwen/Qwen3-8B --reasoning-parser qwen3"),
)


def check(context: Context) -> Iterator[Hit]:
    """A known reasoning parser that is not given."""
    choice = context.facts.parsers
    if choice is None or (choice.reasoning is None and not choice.thinks_unasked) or context.command.role == "prefill":
        return
    given = context.value("--reasoning-parser")
    if given is None and context.has("--reasoning-parser", "--dyn-reasoning-parser"):
        return
    if given == "minimax-append-think" and choice.reasoning is not None:
        yield Hit(
            message=msg("minimax-append-think leaves the thinking in the text"),
            why=msg("it only adds the opening tag; content still holds the whole reasoning"),
            fix=msg("Use --reasoning-parser {name}.", name=choice.reasoning),
            flag="--reasoning-parser",
            edits=(Edit("--reasoning-parser", choice.reasoning, safe=False),),
            severity="note",
        )
    if given is not None:
        return
    sure = choice.reasoning_sure or choice.thinks_unasked
    yield Hit(
        message=_missing(choice.reasoning, sure=sure),
        why=msg("the thinking stands in the answer; a JSON schema binds from the first token and forbids it")
        if choice.thinks_unasked or choice.reasoning_sure
        else msg("where it thinks, the thinking would stand in the answer, and a JSON schema would forbid it"),
        fix=msg("Set the family's reasoning parser.") if choice.reasoning is None else msg("Add --reasoning-parser {name}.", name=choice.reasoning),
        edits=() if choice.reasoning is None or not sure else (Edit("--reasoning-parser", choice.reasoning, safe=False),),
        severity=None if sure else "note",
        confidence=None if sure else "possible",
        sources=tuple(f"{fact.path}: {fact.value}" for fact in choice.evidence),
    )


def _missing(parser: str | None, *, sure: bool) -> Msg:
    if parser is None:
        return msg("no --reasoning-parser: thinking will stand in content")
    if sure:
        return msg("no --reasoning-parser: this model's thinking needs {name}", name=parser)
    return msg("no --reasoning-parser: checkpoints of this architecture that think need {name}; nothing here says whether this one does", name=parser)
