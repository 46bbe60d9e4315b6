"""An e5m2 cache with quantised weights on a release that refuses the pair.

## What it catches
`--kv-cache-dtype fp8_e5m2` with any quantised checkpoint on vLLM before 0.23.

## Why it matters
A guard meant for checkpoints with fp8 scales rejected INT4 ones too.

## Example
AWQ on RTX 3090 with fp8_e5m2.

## Fix
Upgrade, or `auto`.

## Versions
vLLM before 0.23 (from dates).

## Sources
github.com/vllm-project/vllm/issues/45040
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "KV03"
NAME = "e5m2-with-quantised-weights"
SEVERITY = "warning"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B-AWQ --kv-cache-dtype fp8_e5m2", gpu="2xrtx-3090", version="0.20.0"),
    good("vllm serve Qwen/Qwen3-32B-AWQ --kv-cache-dtype fp8_e5m2", gpu="2xrtx-3090", version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "KV03")
