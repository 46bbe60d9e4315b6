"""Tensor parallelism does not divide the attention heads.

## What it catches
Query heads of the text model, or heads of the vision tower in tensor mode, that are no multiple of the shards.

## Why it matters
The engine refuses to start. KV heads need not divide: they are replicated.

## Example
A 28-head model on eight GPUs with `--tensor-parallel-size 8`.

## Fix
A size that divides; pipeline or data parallelism for the other GPUs. For the vision tower alone: `--mm-encoder-tp-mode data`.

## Versions
All.

## Sources
vLLM config/model.py: "Total number of attention heads must be divisible by tensor parallel size"; github.com/vllm-project/vllm/issues/4232
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import divisors
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PAR01"
NAME = "tp-does-not-divide-heads"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 8"),
    good("vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 4"),
)


def check(context: Context) -> Iterator[Hit]:
    """Text heads first, tower heads second."""
    tp = context.layout.tp
    if tp == 1 or context.shape is None:
        return
    odd = [heads for heads in sorted(context.query_heads) if heads % tp]
    if odd:
        sizes = ", ".join(str(size) for size in divisors(odd[0], 64))
        yield Hit(
            message=msg("{heads} attention heads do not divide by {tp}", heads=odd[0], tp=tp),
            why=msg("each GPU must hold whole heads: the engine refuses to start"),
            fix=msg("Use one of {sizes}; give other GPUs to pipeline or data parallelism.", sizes=sizes),
            flag="--tensor-parallel-size",
        )
        return
    towers = [tower.heads for tower in context.shape.towers if tower.heads and tower.heads % tp]
    if towers and not context.settings.language_only and context.value("--mm-encoder-tp-mode") != "data" and not context.has("--mm-enable-dp-encoder"):
        yield Hit(
            message=msg("{heads} heads of the vision tower do not divide by {tp}", heads=towers[0], tp=tp),
            why=msg("the tower is split like the text model unless it runs data-parallel; some towers replicate instead"),
            fix=msg("Add --mm-encoder-tp-mode data.") if context.vllm else msg("Add --mm-enable-dp-encoder."),
            flag="--tensor-parallel-size",
            severity="note",
            confidence="possible",
            edits=(Edit("--mm-encoder-tp-mode", "data", safe=False),) if context.vllm else (Edit("--mm-enable-dp-encoder", "", safe=False),),
        )
