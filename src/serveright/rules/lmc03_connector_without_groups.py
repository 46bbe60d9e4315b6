"""A cache connector switches the hybrid cache manager off.

## What it catches
`--kv-transfer-config` with a connector that does not support several cache groups, on a model with windows or recurrent layers.

## Why it matters
Windowed layers are charged for the whole context, or the model does not start.

## Example
LMCacheConnectorV1 with gpt-oss; only LMCacheMPConnector supports groups.

## Fix
A connector with group support (LMCacheMPConnector, NixlConnector), or no connector.

## Versions
vLLM before 0.13 for every connector, later by connector.

## Sources
vLLM config/vllm.py: "Turning off hybrid kv cache manager because"; LMCache 0.5.6 integration/vllm
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "LMC03"
NAME = "connector-without-groups"
SEVERITY = "warning"
EFFECT = "capacity"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad('PYTHONHASHSEED=0 vllm serve openai/gpt-oss-120b --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\''),
    good('PYTHONHASHSEED=0 vllm serve openai/gpt-oss-120b --kv-transfer-config \'{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}\''),
)
_GROUPS = (
    "LMCacheMPConnector",
    "NixlConnector",
    "OffloadingConnector",
    "MultiConnector",
    "MooncakeConnector",
    "SharedStorageConnector",
    "DecodeBenchConnector",
    "MoRIIOConnector",
)


def check(context: Context) -> Iterator[Hit]:
    """The connector against the layers."""
    connector = context.json("--kv-transfer-config").get("kv_connector")
    grouped = context.hybrid or any(mixer.window_tokens for mixer in context.attention)
    if not context.vllm or not isinstance(connector, str) or not grouped:
        return
    if context.since("0.13.0") and connector in _GROUPS:
        return
    yield Hit(
        message=msg("{connector} switches the hybrid cache manager off", connector=connector)
        if context.since("0.13.0")
        else msg("any connector switches the hybrid cache manager off before 0.13"),
        why=msg("windowed layers are then charged for the whole context; recurrent ones may not start"),
        fix=msg("Use a connector with group support such as LMCacheMPConnector."),
        flag="--kv-transfer-config",
    )
