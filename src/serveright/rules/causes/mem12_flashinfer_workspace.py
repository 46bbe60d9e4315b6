"""FlashInfer's workspace is too small, not the memory."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM12",
    title=msg("FlashInfer's workspace is too small, not the memory"),
    why=msg("a fixed buffer is exceeded by heads x chunk; memory is free, and the text looks like an OOM"),
    fix=(
        msg("Shrink the chunk (--max-num-batched-tokens, --chunked-prefill-size) or drop the forced FlashInfer backend."),
        msg("Where the release reads it: VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE or SGLANG_FLASHINFER_WORKSPACE_SIZE."),
    ),
    effect="crash",
    speaks={
        "log:workspace_overflow": 7,
        "symptom:long_prompt_crash": 1.2,
    },
)
