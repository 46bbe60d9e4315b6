"""Prefix caching is off on a hybrid model, by default or by flag.

## What it catches
A model with recurrent layers on vLLM before 0.26 without `--enable-prefix-caching`, or with it switched off.

## Why it matters
Agents and multi-turn chats prefill everything again at every turn; no message says so.

## Example
Nemotron-3 Super behind an agent framework.

## Fix
`--enable-prefix-caching` (NIM: `NIM_ENABLE_KV_CACHE_REUSE=1`).

## Versions
vLLM: off by default on hybrids before 0.26.0, on since.

## Sources
vLLM engine/arg_utils.py; github.com/NVIDIA-AI-Blueprints/retail-shopping-assistant/pull/217
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import prefix_on, without
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "HYB01"
NAME = "prefix-caching-off"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4", version="0.20.0"),
    good("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4", version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Recurrent layers without the cache."""
    if not context.vllm or not context.recurrent or prefix_on(context):
        return
    said = context.flag("--enable-prefix-caching")
    yield Hit(
        message=msg("prefix caching is switched off on a hybrid model")
        if said
        else msg("prefix caching is off by default on hybrid models in vLLM {version}", version=context.version),
        why=msg("every turn prefills the whole conversation again; nothing reports it"),
        fix=msg("Remove the switch.") if said else msg("Add --enable-prefix-caching."),
        flag="--enable-prefix-caching" if said else None,
        edits=without(said, safe=False) if said else (Edit("--enable-prefix-caching", "", safe=False),),
        severity="note" if said or context.command.engine_version is None else None,
    )
