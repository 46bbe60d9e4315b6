"""A model that calls tools is served without a tool-call parser.

## What it catches
A chat model whose template knows tools, started without `--tool-call-parser`; in vLLM also without `--enable-auto-tool-choice`.

## Why it matters
vLLM answers 400 to `tool_choice=auto` and, before 0.13, let `required` pass and degrade in silence. SGLang hands the call back as plain text in `content`.
Neither engine picks a parser by itself.

## Example
`sglang serve --model-path zai-org/GLM-5.2` answers tool requests with `<tool_call>...` in the text.

## Fix
Add the family's parser; vLLM needs both flags. If no client sends tools, suppress the rule and say so.

## Versions
All. SGLang 0.5.23 can guess from the template with `--tool-call-parser auto`.

## Sources
vLLM entrypoints/openai; SGLang function_call; github.com/sgl-project/sglang/issues/19925; github.com/vllm-project/vllm/issues/9986
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PARSE01"
NAME = "no-tool-parser"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path zai-org/GLM-5.2 --tp 8"),
    bad("vllm serve zai-org/GLM-5.2 -tp 8 --tool-call-parser glm47"),
    good("vllm serve zai-org/GLM-5.2 -tp 8 --tool-call-parser glm47 --enable-auto-tool-choice"),
)


def check(context: Context) -> Iterator[Hit]:
    """A parser is known for the model, and the command does not name one."""
    if context.command.role == "prefill" or (context.shape is not None and not context.shape.causal):
        return
    if context.has("--dyn-tool-call-parser"):  # Dynamo's frontend parses
        return
    given = context.flag("--tool-call-parser")
    if given is not None:
        if context.vllm and not context.on("--enable-auto-tool-choice"):
            yield Hit(
                message=msg("--tool-call-parser does nothing without --enable-auto-tool-choice"),
                why=msg("vLLM refuses tool_choice=auto with 400 unless both are given"),
                fix=msg("Add --enable-auto-tool-choice."),
                flag="--tool-call-parser",
                edits=(Edit("--enable-auto-tool-choice", ""),),
                confidence="certain",
            )
        return
    choice = context.facts.parsers
    name = choice.tool if choice else None
    if name is None and context.shape is not None:
        if choice is not None and choice.accepted_tool:
            yield _later(context, choice.accepted_tool[0])
        return
    switch = (Edit("--enable-auto-tool-choice", ""),) if context.vllm else ()
    yield Hit(
        message=msg("no --tool-call-parser: tool calls will not be answered as tool calls")
        if name is None
        else msg("no --tool-call-parser: this model's calls need {name}", name=name),
        why=msg("vLLM answers tool requests with 400") if context.vllm else msg("SGLang returns the call as text in content and never infers the parser"),
        fix=msg("Name the family's parser if clients send tools.") if name is None else msg("Add --tool-call-parser {name} if clients send tools.", name=name),
        edits=() if name is None else (Edit("--tool-call-parser", name, safe=False), *switch),
        # vLLM refuses loudly at the first tool request; SGLang hands on the call as text, which nobody sees
        severity="note" if context.vllm or choice is None or not choice.sure or name is None else None,
        confidence="possible" if name is None else None,
        sources=() if choice is None else tuple(f"{fact.path}: {fact.value}" for fact in choice.evidence),
    )


def _later(context: Context, name: str) -> Hit:
    span = context.seen(context.command.engine, "tool_parser", name)
    return Hit(
        message=msg(
            "this model's tool calls need {name}, which {engine} {version} does not have", name=name, engine=context.command.engine, version=context.version
        ),
        why=msg("it comes with {first}", first=span[0]) if span else msg("tool requests are refused or come back as text"),
        fix=msg("Use a release that has the parser if clients send tools."),
        confidence="certain",
    )
