"""A flag this version does not have.

## What it catches
Removed, renamed, never released, or another engine's flags, with what to write instead.

## Why it matters
argparse stops the server: "unrecognized arguments". Some wrappers drop the flag in silence.

## Example
`--enable-ep-moe` in SGLang 0.5.5 and later; `--swap-space` in vLLM 0.18; `--eplb-algorithm` in vLLM, which is SGLang's.

## Fix
The successor in the finding, or delete it.

## Versions
The harvested table of the version decides; a flag the table has is never reported.

## Sources
Flag tables of the released wheels; facts/flags.toml for successors
"""

import difflib
from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import assumed
from serveright.rules.registry import bad, good
from serveright.types.command import GivenFlag
from serveright.types.lore import Successor
from serveright.types.report import Edit
from serveright.types.text import Msg, msg
from serveright.versions import at_least

CODE = "VER01"
NAME = "unknown-flag"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-8B --swap-space 16"),
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-ep-moe"),
    bad("vllm serve deepseek-ai/DeepSeek-V3 --enable-eplb --eplb-algorithm deepseek --ep-num-redundant-experts 32"),
    good("vllm serve Qwen/Qwen3-8B --enable-prefix-caching"),
)
_WRAPPERS = ("dynamo", "huggingfaceserver", "ray.serve.llm", "vllm.entrypoints.openai.run_batch")


def check(context: Context) -> Iterator[Hit]:
    """Every flag without a name in the table."""
    if not context.table.flags:
        return
    wrapped = context.command.entry.startswith(_WRAPPERS)
    for given in context.command.flags:
        if given.name is not None or not given.literal or context.ambiguous(given.written):
            continue
        if wrapped:
            continue
        yield judge(context, given)


def judge(context: Context, given: GivenFlag) -> Hit:
    """The finding for one unknown flag: what it was, whose it is, what to write."""
    engine, written = context.command.engine, given.written
    name = "--" + written[2:].replace("_", "-") if written.startswith("--") and engine == "vllm" else written
    base = name.split(".")[0]
    successor = context.successor(base)
    span = context.seen(engine, "flag", base)
    other = "sglang" if engine == "vllm" else "vllm"
    foreign = span is None and context.seen(other, "flag", base) is not None
    if span is not None:
        newer = at_least(span[0], context.version) and span[0] != context.version
        message = (
            msg("{flag} comes with {engine} {first}", flag=written, engine=engine, first=span[0])
            if newer
            else msg("{flag} left {engine} after {last}", flag=written, engine=engine, last=span[1])
        )
    elif foreign:
        message = msg("{flag} is {other}'s, not {engine}'s", flag=written, other=other, engine=engine)
    elif successor is not None and successor.kind == "never":
        message = msg("{flag} was never a flag of {engine}", flag=written, engine=engine)
    elif successor is not None and context.facts.indexes.get(engine):
        message = msg(
            "{flag} left {engine} before {first}, the oldest release known here", flag=written, engine=engine, first=context.facts.indexes[engine].versions[0]
        )
    elif context.facts.indexes.get(engine):
        message = msg("no known release of {engine} has {flag}", engine=engine, flag=written)
    else:
        message = msg("{engine} {version} does not know {flag}", engine=engine, version=context.version, flag=written)
    fix, edits = remedy(context, given, base, other if foreign else None)
    near = difflib.get_close_matches(name, [flag.name for flag in context.table.flags], n=1, cutoff=0.85) if fix is None and span is None else []
    if near:
        fix = msg("Did you mean {name}?", name=near[0])
    return Hit(
        message=message,
        why=msg("argparse stops at an unknown flag; wrappers may drop it in silence"),
        fix=fix or msg("Delete it."),
        flag=written,
        location=given.location,
        edits=edits or (Edit(written, None, safe=False),),
        sources=(successor.source,) if successor is not None else (),
        **assumed(context, "flag", base),
    )


def remedy(context: Context, given: GivenFlag, base: str, other: str | None) -> tuple[Msg | None, tuple[Edit, ...]]:
    """What to write instead, and the edits for it."""
    successor = context.successor(base)
    if successor is not None and (successor.to is None or context.knows(successor.to)):
        return _succeed(context, given, successor)
    if other is not None:
        twin = next((pair for pair in context.facts.lore.counterparts if (pair.vllm if other == "vllm" else pair.sglang) == base), None)
        mine = None if twin is None else twin.vllm if context.vllm else twin.sglang
        if twin is not None and mine is not None and context.knows(mine) and not twin.inverse:
            value = twin.values.get(given.value or "", given.value or "")
            return msg("Here it is {flag}.", flag=mine), (Edit(given.written, None, safe=False), Edit(mine, "" if twin.switch else value, safe=False))
    return None, ()


def _succeed(context: Context, given: GivenFlag, successor: Successor) -> tuple[Msg, tuple[Edit, ...]]:
    gone = Edit(given.written, None, successor.safe)
    if successor.to is None:
        text = msg("Delete it: the engine does this by itself.") if successor.kind == "default" else msg("Delete it: nothing took its place.")
        return text, (gone,)
    value = (
        (successor.value or "").replace("{tp}", str(context.tp_flag)) if successor.value is not None else (given.value or "") if successor.keep_value else ""
    )
    needs_value = successor.value is None and not successor.keep_value and not _switch(context, successor.to)
    text = msg("Write {flag} {value}.", flag=successor.to, value=value) if value else msg("Use {flag}.", flag=successor.to)
    if needs_value or context.has(successor.to):
        return text, (gone,)
    return text, (gone, Edit(successor.to, value, successor.safe))


def _switch(context: Context, name: str) -> bool:
    spec = context.spec(name.split(".")[0])
    return spec is not None and spec.switch
