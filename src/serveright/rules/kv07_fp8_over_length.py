"""Quality of an fp8 cache over length.

## What it catches
An fp8 cache on a release whose attention accumulates fp8 in low precision, with long contexts.

## Why it matters
Short tests look fine; at tens of thousands of tokens text turns to garbage.

## Example
Llama-3.3-70B with fp8 cache on H100, vLLM 0.10, very long prompts.

## Fix
`auto`, another backend, or a newer FlashAttention 3.

## Versions
vLLM 0.9 to 0.11 on sm_90 (from dates).

## Sources
github.com/vllm-project/vllm/issues/23813
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "KV07"
NAME = "fp8-over-length"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --kv-cache-dtype fp8", gpu="4xh100", version="0.10.0"),
    good("vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 4 --kv-cache-dtype fp8", gpu="4xh100", version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "KV07")
