"""The LoRA adapter does not fit what the server was started for."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="LORA01",
    title=msg("the LoRA adapter does not fit what the server was started for"),
    why=msg("rank, modules and number of adapters are reserved at the start"),
    fix=(
        msg(
            "Start with --enable-lora and, as the message says, a larger --max-lora-rank, more slots (--max-loras; SGLang: --max-loras-per-batch) or other target modules."
        ),
    ),
    effect="crash",
    speaks={
        "symptom:adapter_fails": 3,
        "log:lora_off": 6,
        "log:lora_rank": 7,
        "log:refused_lora": 5,
    },
)
