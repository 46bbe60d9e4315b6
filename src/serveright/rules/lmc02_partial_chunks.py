"""Partial chunks of the external cache overlap the engine's own.

## What it catches
LMCache with `save_unfull_chunk` on, or left at an old default, beside the engine's prefix cache.

## Why it matters
A partial chunk from outside overlaps cached tokens that are not chunk-aligned; the mixture gives wrong text on warm caches.

## Example
chunk size 256, engine blocks of 16, LMCache 0.3.

## Fix
`save_unfull_chunk: false` (`discard_partial_chunks`), or a newer LMCache.

## Versions
LMCache up to 0.3.10.

## Sources
github.com/LMCache/LMCache/issues/2206
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import prefix_on
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "LMC02"
NAME = "partial-chunks"
SEVERITY = "note"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad(
        'PYTHONHASHSEED=0 LMCACHE_SAVE_UNFULL_CHUNK=true vllm serve Qwen/Qwen3-32B --enable-prefix-caching --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\''
    ),
    good(
        'PYTHONHASHSEED=0 LMCACHE_SAVE_UNFULL_CHUNK=false vllm serve Qwen/Qwen3-32B --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\''
    ),
)


def check(context: Context) -> Iterator[Hit]:
    """The setting where it can be seen; an old release where it cannot."""
    connector = str(context.json("--kv-transfer-config").get("kv_connector", ""))
    if "LMCache" not in connector or not prefix_on(context):
        return
    said = context.env("LMCACHE_SAVE_UNFULL_CHUNK")
    extra = context.json("--kv-transfer-config").get("kv_connector_extra_config")
    if said in ("false", "False", "0") or (isinstance(extra, dict) and extra.get("discard_partial_chunks")):
        return
    on = said in ("true", "True", "1")
    old = context.command.engine_version is not None and not context.since("0.13.0")
    if not on and not old and context.command.engine_version is not None:
        return
    yield Hit(
        message=msg("LMCache may hand over partial chunks beside the engine's prefix cache"),
        why=msg("up to LMCache 0.3.10 such a mixture gave wrong text on warm caches"),
        fix=msg("Set save_unfull_chunk: false, or use a newer LMCache."),
        flag="--kv-transfer-config",
        severity="warning" if on else None,
        confidence="likely" if on else None,
    )
