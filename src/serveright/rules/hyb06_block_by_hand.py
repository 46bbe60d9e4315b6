"""A block size set by hand breaks the layout of states or compressed rows.

## What it catches
`--mamba-block-size` that is no multiple of the model's chunk, or without prefix caching; `--block-size` on DeepSeek-V4 or on a hybrid, which the engine aligns itself.

## Why it matters
Silently wrong states, or an engine that does not start.

## Example
A platform that injects `--block-size 16` into every command, DeepSeek-V4 included.

## Fix
Remove it.

## Versions
vLLM.

## Sources
vLLM config/vllm.py; models/deepseek_v4
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.report import Severity
from serveright.types.text import Msg, msg

CODE = "HYB06"
NAME = "block-by-hand"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 4 --block-size 16", gpu="4xb200"),
    good("vllm serve deepseek-ai/DeepSeek-V4-Flash -tp 4 --block-size 256", gpu="4xb200"),
)


def check(context: Context) -> Iterator[Hit]:
    """Hand-set blocks against the layout."""
    if not context.vllm:
        return
    size = context.integer("--block-size")
    if size is not None and context.compressed and size != 256:
        yield _hit(
            context,
            "--block-size",
            msg("--block-size {size} on DeepSeek-V4, whose rows come in blocks of 256", size=size),
            "error" if size < 128 else "warning",
        )
    elif size is not None and context.hybrid:
        yield _hit(context, "--block-size", msg("--block-size {size} on a hybrid: the engine raises it to the state's page", size=size), "note")
    state = context.integer("--mamba-block-size")
    chunks = {mixer.chunk_tokens for mixer in context.recurrent if mixer.chunk_tokens}
    if state is not None and any(state % chunk for chunk in chunks):
        yield _hit(context, "--mamba-block-size", msg("--mamba-block-size {size} is no multiple of the model's chunk", size=state), "warning")


def _hit(context: Context, flag: str, message: Msg, severity: Severity) -> Hit:
    return Hit(
        message=message,
        why=msg("the layout of states and compressed rows fixes the block"),
        fix=msg("Remove {flag}.", flag=flag),
        flag=flag,
        edits=without(context.flag(flag)),
        severity=severity,
    )
