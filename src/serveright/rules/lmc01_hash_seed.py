"""A shared cache without a fixed hash seed.

## What it catches
LMCache or another external store without `PYTHONHASHSEED`.

## Why it matters
Keys are hashes of tokens; with a random seed each process computes others and every lookup misses.

## Example
LMCacheConnectorV1 with a Redis store and no seed.

## Fix
`PYTHONHASHSEED=0` in every process, the LMCache server too.

## Versions
All.

## Sources
github.com/LMCache/LMCache/issues/2581; github.com/vllm-project/vllm/issues/42625
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "LMC01"
NAME = "hash-seed"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve Qwen/Qwen3-32B --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\''),
    good('PYTHONHASHSEED=0 vllm serve Qwen/Qwen3-32B --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\''),
)


def check(context: Context) -> Iterator[Hit]:
    """A store without a seed."""
    if not stores_outside(context) or "PYTHONHASHSEED" in context.command.env:
        return
    yield Hit(
        message=msg("an external cache without PYTHONHASHSEED"),
        why=msg("keys are hashes; with a random seed every process computes others and all lookups miss"),
        fix=msg("Set PYTHONHASHSEED=0 in every process, the cache server too."),
        flag="--kv-transfer-config" if context.vllm else "--enable-lmcache",
    )


def stores_outside(context: Context) -> bool:
    """Whether the cache is shared beyond this process through LMCache or a store."""
    connector = str(context.json("--kv-transfer-config").get("kv_connector", ""))
    return (
        "LMCache" in connector or "MooncakeStore" in connector or bool(context.on("--enable-lmcache")) or context.value("--kv-offloading-backend") == "lmcache"
    )
