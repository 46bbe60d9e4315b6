"""Memory is reserved for images and video that may never come.

## What it catches
A multimodal model without `--limit-mm-per-prompt` or `--language-model-only`.

## Why it matters
vLLM profiles the longest video the model takes and keeps an encoder cache: 5 instead of 25 GiB of cache in one report, an OOM at start in another.

## Example
A 27B vision model on a 24 GB card for text only.

## Fix
Text only: `--language-model-only` (since 0.17). Images only: `--limit-mm-per-prompt '{"video": 0}'`.

## Versions
vLLM; SGLang's `--language-only` and `--limit-mm-data-per-request`.

## Sources
vLLM multimodal/profiling.py; github.com/gke-labs/open-rl/pull/215
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "MEM03"
NAME = "multimodal-profile"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-VL-8B-Instruct", gpu="1xrtx-4090"),
    good("vllm serve Qwen/Qwen3-VL-8B-Instruct --language-model-only", gpu="1xrtx-4090"),
)


def check(context: Context) -> Iterator[Hit]:
    """A multimodal model without a word on what comes."""
    if not context.vllm or "multimodal" not in context.features or context.has("--limit-mm-per-prompt", "--language-model-only", "--skip-mm-profiling"):
        return
    video = context.shape is not None and "video" in context.shape.modalities
    yield Hit(
        message=msg("images and video are profiled at their largest: no --limit-mm-per-prompt"),
        why=msg("the encoder's worst case is taken from the cache even where only text is sent"),
        fix=msg("Text only: --language-model-only. Images only: --limit-mm-per-prompt '{{\"video\": 0}}'.")
        if video
        else msg("Text only: --language-model-only."),
        severity="warning" if context.gpu is not None and context.gpu.memory_bytes < 50 * 2**30 else None,
    )
