"""A value the flag does not take.

## What it catches
Values outside the choices of the version, JSON that is none, keys a configuration does not have, and parallel sizes below one.

## Why it matters
argparse or the configuration's validation stops the server.

## Example
`--dtype fp8`: weights are quantised by the checkpoint, not by dtype; `--mamba-cache-mode all` since 0.32.

## Fix
One of the choices.

## Versions
The table of the version decides.

## Sources
Choices in the released argument parser
"""

import difflib
import re
from collections.abc import Iterator

from serveright.analysis.given import SIZES, loads
from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.command import GivenFlag
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "VER05"
NAME = "value-not-a-choice"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --dtype fp8"),
    bad("vllm serve Qwen/Qwen3-8B --speculative-config '{method: mtp}'"),
    bad("vllm serve Qwen/Qwen2.5-VL-7B-Instruct --limit-mm-per-prompt image=4"),
    bad("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization NaN"),
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp-size two"),
    good("vllm serve Qwen/Qwen3-8B --dtype bfloat16 --max-model-len auto"),
)
_NOT_POSITIVE = re.compile(r"0+|-\d+")
_OTHERS = ("--tool-call-parser", "--reasoning-parser", "--attention-backend")

_PAIRS_ONCE = "--limit-mm-per-prompt"
"""Took `image=4` until vLLM 0.9; the string now falls in the config's check (multimodal config's limit_per_prompt is a dict)."""


def check(context: Context) -> Iterator[Hit]:
    """Each literal value against its flag's choices; then JSON."""
    for given in context.command.flags:
        spec = context.spec(given.name) if given.name else None
        if spec is None or given.value is None or not given.literal or spec.switch:
            continue
        if given.name in SIZES and _NOT_POSITIVE.fullmatch(given.value):
            yield _too_small(given)
        if spec.type in ("int", "float") and not spec.choices and not spec.repeatable and "." not in given.written and _no_number(given.value):
            yield _not_a_number(given)
        if (spec.type == "json" or given.name == _PAIRS_ONCE) and "." not in given.written:
            yield from _json(context, given)
        if not spec.choices or spec.open_choices or spec.name in _OTHERS or "." in given.written or spec.type == "json":
            continue
        allowed = {choice.lower() for choice in spec.choices} if spec.any_case else set(spec.choices)
        for value in given.value.split(" ") if spec.repeatable else [given.value]:
            if (value.lower() if spec.any_case else value) in allowed or value == "":
                continue
            yield _unlisted(context, given, value, spec.choices)


def _no_number(value: str) -> bool:
    """Words where a number is read; `auto` and `none` are words some flags know."""
    return value.lower() not in ("auto", "none", "null", "") and not any(sign.isdigit() for sign in value)


def _not_a_number(given: GivenFlag) -> Hit:
    return Hit(
        message=msg("{flag} {value}: a number is read here", flag=given.written, value=given.value),
        why=msg("the argument check stops the server"),
        fix=msg("Give a number, or remove the flag."),
        flag=given.written,
        location=given.value_location or given.location,
    )


def _too_small(given: GivenFlag) -> Hit:
    return Hit(
        message=msg("{flag} {value}: a parallel size is at least 1", flag=given.written, value=given.value),
        why=msg("the server stops, in several releases with a division by zero"),
        fix=msg("Remove it, or give the number of GPUs."),
        flag=given.written,
        location=given.value_location or given.location,
        edits=(Edit(given.written, None, safe=False),),
    )


def _unlisted(context: Context, given: GivenFlag, value: str, choices: tuple[str, ...]) -> Hit:
    near = sorted(c for c in choices if c.startswith(f"{value}_"))[:1] or difflib.get_close_matches(value, choices, n=1, cutoff=0.7)
    hint = msg("Did you mean {name}?", name=near[0]) if near else msg("Choices: {names}.", names=", ".join(choices[:30]))
    if given.name == "--dtype" and value.startswith(("fp8", "int", "nvfp4", "mxfp")):
        hint = msg("Drop it: precision of weights comes from the checkpoint or --quantization.")
    return Hit(
        message=msg(
            "{flag} {value}: not a choice in {engine} {version}", flag=given.written, value=value, engine=context.command.engine, version=context.version
        ),
        why=msg("the argument check stops the server"),
        fix=hint,
        flag=given.written,
        location=given.value_location or given.location,
        edits=(Edit(given.written, near[0], safe=False),) if near else (Edit(given.written, None, safe=False),) if given.name == "--dtype" else (),
    )


def _json(context: Context, given: GivenFlag) -> Iterator[Hit]:
    text = (given.value or "").strip()
    if (not text.startswith(("{", "[")) and (given.name != _PAIRS_ONCE or "=" not in text)) or loads(text) is not None or text == "null":
        return
    yield Hit(
        message=msg("{flag}: the value is not JSON", flag=given.written),
        why=msg("keys and texts need double quotes; the argument check stops the server"),
        fix=msg("Write JSON in single quotes, or dotted keys: {flag}.key value.", flag=given.written),
        flag=given.written,
        location=given.value_location or given.location,
    )
